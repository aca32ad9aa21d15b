#!/bin/bash
# Builds the Debian package: the daemon with Debian's flags, the tree by `make install`, and what conf/debian adds.
# usage: conf/debian/build.sh FOLDER      leaves FOLDER/lockkeeper_VERSION_ARCHITECTURE.deb
set -eu
cd "$(dirname "$0")/../.."
out=$1
root=$out/root
umask 022

for tool in dpkg-deb dpkg-shlibdeps dpkg-buildflags strip gzip; do
    command -v $tool >/dev/null || { echo "deb: $tool is missing; it is in dpkg-dev or binutils"; exit 1; }
done
version=$(sed -n 's/^#define LK_VERSION "\(.*\)"/\1/p' src/base/version.h)
architecture=$(dpkg --print-architecture)
package=$out/lockkeeper_${version}_$architecture.deb

rm -rf "$root" "$out/shlibs" "$out"/*.deb
mkdir -p "$root/DEBIAN"
flags="$(dpkg-buildflags --get CPPFLAGS) $(dpkg-buildflags --get CFLAGS) -ffile-prefix-map=$PWD=."
# Fortified headers ask for attention to results that the daemon means to ignore: that is no matter of the package.
make CI= BUILD="$out/build" CFLAGS="$flags -Wno-unused-result" LDFLAGS="$(dpkg-buildflags --get LDFLAGS) -Wl,-z,now" \
    prefix=/usr mandir=/usr/share/man docdir=/usr/share/doc/lockkeeper DESTDIR="$root" install >"$out/build.log" 2>&1 ||
    { tail -40 "$out/build.log"; exit 1; }
strip --strip-unneeded --remove-section=.comment "$root/usr/sbin/lockkeeper"

# --- files
doc=$root/usr/share/doc/lockkeeper
rm "$doc/LICENSE"
mkdir -p "$doc/examples"
mv "$doc/conf/lockkeeper.ini" "$doc/examples/"
rmdir "$doc/conf"
[ ! -d "$doc/docs" ] || { mv "$doc/docs"/* "$doc/"; rmdir "$doc/docs"; }
{ printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Lockkeeper\n\n'
  printf 'Files: *\nCopyright: 2026, the Lockkeeper developers\nLicense: PostgreSQL\n'
  sed -e 1,4d -e 's/^$/./' -e 's/^/ /' LICENSE; } >"$doc/copyright"
sed "s/@VERSION@/$version/" conf/debian/changelog | gzip -9n >"$doc/changelog.gz"
find "$root/usr/share/man" -type f -exec gzip -9n {} +

install -D -m 644 -t "$root/lib/systemd/system" conf/systemd/lockkeeper.service conf/systemd/lockkeeper.socket
install -D -m 644 conf/logrotate/lockkeeper "$root/etc/logrotate.d/lockkeeper"
install -d -m 750 "$root/etc/lockkeeper"
# The sample, with the folders of a Debian system.
sed -e 's|^;* *auth_file = .*|auth_file = /etc/lockkeeper/userlist.txt|' \
    -e 's|^;* *unix_socket_dir = .*|unix_socket_dir = /run/lockkeeper|' \
    -e 's|^;* *logfile =.*|logfile = /var/log/lockkeeper/lockkeeper.log|' \
    -e 's|^;* *leak_log =.*|leak_log = /var/log/lockkeeper/leaks.jsonl|' conf/lockkeeper.ini >"$root/etc/lockkeeper/lockkeeper.ini"
chmod 640 "$root/etc/lockkeeper/lockkeeper.ini"
for line in auth_file unix_socket_dir logfile leak_log; do
    [ "$(grep -c "^$line = /" "$root/etc/lockkeeper/lockkeeper.ini")" = 1 ] || { echo "deb: $line is not set once"; exit 1; }
done

# --- control
mkdir -p "$out/shlibs/debian"
printf 'Source: lockkeeper\n\nPackage: lockkeeper\nArchitecture: any\n' >"$out/shlibs/debian/control"
depends=$(cd "$out/shlibs" && dpkg-shlibdeps -O "$root/usr/sbin/lockkeeper" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { echo "deb: dpkg-shlibdeps found nothing"; exit 1; }
size=$(du -sk --exclude=DEBIAN "$root" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@DEPENDS@/$depends/" \
    conf/debian/control >"$root/DEBIAN/control"
(cd "$root" && find etc -type f | LC_ALL=C sort | sed 's|^|/|') >"$root/DEBIAN/conffiles"
(cd "$root" && find usr lib -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
install -m 755 -t "$root/DEBIAN" conf/debian/postinst conf/debian/prerm conf/debian/postrm

dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
echo "$package"
