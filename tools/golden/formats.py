def make_all(): return []
