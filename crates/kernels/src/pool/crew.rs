//! The threads: they look for open jobs, help with the oldest, and sleep when there is none.
//!
//! The owner of a job puts it on a list, works at it itself, takes it off the list, and waits until those who came to help
//! have left. Whoever waits spins for some microseconds first, as the next operation of a forward pass is never far, and a
//! sleeping thread takes longer to come back than many operations last; then it sleeps, so that a core another
//! process holds stalls nobody for longer than its work. A job may be opened within a task of another.

use super::job::Job;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long to spin before sleeping.
const SPIN: Duration = Duration::from_micros(30);

/// The threads, beside those that open jobs.
#[derive(Debug)]
pub(super) struct Crew {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// The process that has these threads.
    process: u32,
}

/// What the threads share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Jobs with something left to take: what idle threads watch.
    open_jobs: AtomicUsize,
    /// Threads that are at no job.
    idle: AtomicUsize,
    /// Tells sleepers of a job, or of the end.
    wake: Condvar,
    /// Owners that sleep until their helpers have left.
    waiting_owners: AtomicUsize,
    /// Tells them.
    left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Oldest first.
    jobs: Vec<JobPointer>,
    /// Threads asleep.
    sleepers: usize,
    stop: bool,
}

/// A job on its owner's stack, of whatever lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JobPointer(*const Job<'static>);

// SAFETY: a `Job` is `Sync`, and the pointer is followed only while the job lives: see `Shared::help`.
#[allow(unsafe_code)]
unsafe impl Send for JobPointer {}

impl Crew {
    /// Starts `count` threads.
    pub(super) fn new(count: usize) -> std::io::Result<Self> {
        let (shared, process) = (Arc::default(), std::process::id());
        let mut crew = Self { shared, threads: Vec::with_capacity(count), process };
        crew.shared.idle.store(count, Ordering::Relaxed);
        for index in 1..=count {
            let shared = Arc::clone(&crew.shared);
            let thread = std::thread::Builder::new().name(format!("dinoxide-{index}"));
            // On an error, dropping the crew ends those that run.
            crew.threads.push(thread.spawn(move || shared.work(index))?);
        }
        Ok(crew)
    }

    /// How many threads there are.
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    /// How many threads are at no job.
    pub(super) fn idle(&self) -> usize {
        self.shared.idle.load(Ordering::Relaxed)
    }

    /// Runs `task` over ranges that together are 0..count, each of at most `most` indices, on the caller's thread and those of
    /// the crew that are idle. A panic of a task is passed on, after all threads have left the job.
    pub(super) fn run(&self, count: u32, most: u32, task: &(dyn Fn(Range<usize>) + Sync)) {
        let job = Job::new(count, self.threads.len() + 1, most, &self.shared.open_jobs, task);
        self.shared.open(&job, count as usize);
        job.run(0);
        self.shared.close(&job);
        if let Some(payload) = job.into_panic() {
            resume_unwind(payload);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // In a forked child the threads are not there, nobody would end, and the lock may be held for ever.
            std::mem::forget(std::mem::take(&mut self.threads));
            return;
        }
        self.shared.lock().stop = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread catches the panics of tasks, so it ends well.
            let _ended = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job of `count` indices on the list. Its owner must call [`Self::close`] before it goes.
    fn open(&self, job: &Job<'_>, count: usize) {
        let mut state = self.lock();
        state.jobs.push(pointer(job));
        self.open_jobs.fetch_add(1, Ordering::Relaxed);
        let wanted = state.sleepers.min(count.saturating_sub(1));
        drop(state);
        for _ in 0..wanted {
            self.wake.notify_one();
        }
    }

    /// Takes a job off the list and waits until its helpers have left.
    fn close(&self, job: &Job<'_>) {
        let mut state = self.lock();
        state.jobs.retain(|other| *other != pointer(job));
        drop(state);
        // Acquire, here and below: what helpers wrote is seen by the owner.
        let alone = || job.helpers.load(Ordering::Acquire) == 0;
        if spin_until(alone) {
            return;
        }
        let mut state = self.lock();
        // Sequentially consistent with `leave`: either the helper sees this owner wait, or the owner sees it gone.
        self.waiting_owners.fetch_add(1, Ordering::SeqCst);
        while job.helpers.load(Ordering::SeqCst) > 0 {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.waiting_owners.fetch_sub(1, Ordering::SeqCst);
    }

    /// The life of a thread.
    fn work(&self, home: usize) {
        loop {
            if self.help(home) {
                continue;
            }
            if !spin_until(|| self.open_jobs.load(Ordering::Relaxed) > 0) && self.sleep_until_called() {
                return;
            }
        }
    }

    /// Helps with the oldest open job; false when there is none.
    fn help(&self, home: usize) -> bool {
        if self.open_jobs.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let state = self.lock();
        // SAFETY: jobs on the list live, as their owner takes them off, under this lock, before they go.
        #[allow(unsafe_code)]
        let open = state.jobs.iter().map(|job| unsafe { &*job.0 }).find(|job| job.is_open());
        let Some(job) = open else { return false };
        // From here on the owner waits for this thread: counted under the lock under which the owner takes the job off.
        job.helpers.fetch_add(1, Ordering::Relaxed);
        drop(state);
        self.idle.fetch_sub(1, Ordering::Relaxed);
        job.run(home);
        self.idle.fetch_add(1, Ordering::Relaxed);
        // The job may be gone as soon as this thread does not count any more.
        job.helpers.fetch_sub(1, Ordering::SeqCst);
        if self.waiting_owners.load(Ordering::SeqCst) > 0 {
            drop(self.lock());
            self.left.notify_all();
        }
        true
    }

    /// Sleeps until there is an open job; true when it is the end instead.
    fn sleep_until_called(&self) -> bool {
        let mut state = self.lock();
        while !state.stop && self.open_jobs.load(Ordering::Relaxed) == 0 {
            state.sleepers += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleepers -= 1;
        }
        state.stop
    }
}

/// The pointer by which a job is on the list.
fn pointer(job: &Job<'_>) -> JobPointer {
    JobPointer(std::ptr::from_ref(job).cast())
}

/// Spins until it is so; false when it took too long.
fn spin_until(is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if is_so() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return false;
        }
    }
}
