/* The program's name and version, as --version, SHOW VERSION and the log say them. */
#ifndef LK_BASE_VERSION_H
#define LK_BASE_VERSION_H

#define LK_VERSION "0.1.0"
#define LK_VERSION_TEXT "Lockkeeper " LK_VERSION

#endif
