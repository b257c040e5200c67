#!/bin/sh
# Runs a test binary in Bochs, on a processor with AVX-512 FP16. See README.md.
# usage: [FILES="…"] run.sh KERNEL BINARY [ARGUMENTS…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
kernel=$1 binary=$2
shift 2
share=${BXSHARE:-/usr/share/bochs}
isolinux=${ISOLINUX:-/usr/lib/ISOLINUX}
modules=${SYSLINUX_MODULES:-/usr/lib/syslinux/modules/bios}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/dev" "$work/root/proc" "$work/root/tmp" "$work/iso/isolinux"
rustc --edition 2024 -O --target x86_64-unknown-linux-musl -o "$work/root/init" "$here/init.rs"
cp "$binary" "$work/root/test"
strip "$work/root/test"
for argument in "$@"; do echo "$argument"; done > "$work/root/arguments"
for file in ${FILES:-}; do
    path=$(realpath -s "$file")
    mkdir -p "$work/root$(dirname "$path")"
    cp -rL "$path" "$work/root$path"
done

(cd "$work/root" && find . | cpio --quiet -o -H newc | gzip -1 > ../iso/initrd.gz)
cp "$kernel" "$work/iso/vmlinuz"
cp "$isolinux/isolinux.bin" "$modules/ldlinux.c32" "$work/iso/isolinux"
# Without ACPI, whose calls of the firmware Bochs does not survive.
cat > "$work/iso/isolinux/isolinux.cfg" << END
default linux
label linux
  kernel /vmlinuz
  append initrd=/initrd.gz console=ttyS0,115200 quiet mitigations=off nokaslr no5lvl tsc=reliable acpi=off panic=-1
END
genisoimage -quiet -R -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
    -no-emul-boot -boot-load-size 4 -boot-info-table "$work/iso"

cat > "$work/bochsrc" << END
cpu: model=tigerlake, ips=200000000, reset_on_triple_fault=0, add_features="avx512fp16"
memory: guest=2048, host=2048
romimage: file=$share/BIOS-bochs-latest
vgaromimage: file=$share/VGABIOS-lgpl-latest
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial
display_library: term
config_interface: textconfig
clock: sync=none
speaker: enabled=0
log: $work/log
END
touch "$work/serial"
tail -f "$work/serial" &
reader=$!
# Its screen wants a terminal; it ends with an error, as the machine is switched off from inside.
TERM=xterm script -qfc "${BOCHS:-bochs} -q -f $work/bochsrc" /dev/null < /dev/null > /dev/null || true
sleep 1
kill "$reader"
grep -q '^status: Ok(ExitStatus(unix_wait_status(0)))' "$work/serial"
