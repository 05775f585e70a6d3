/** Tests of tests/http that are about files of SQLite only, by a part of their name. */
export const filesOnly: readonly { reason: string; tests: readonly string[] }[] = [
  {
    reason: 'They read what is in the files of a database.',
    tests: [
      'tokens outlive restarts, resets and imports; the file holds no token',
      'a callback that is sent again > after a restart that came before its delivery needs the key again',
      'a database holds hashes of keys only',
    ],
  },
  {
    reason: 'They damage the file, or remove what is beside it.',
    tests: [
      'rows that their table forbids are reported',
      'a damaged page is reported in both parts',
      'a token replaced by another install has an entry of its own',
      'a snapshot exists after a restart; a name is not a path',
      'a snapshot that is truncated, overwritten, foreign or newer changes nothing',
    ],
  },
  {
    reason: 'They look at values of the table meta, some of which are columns of the row head here.',
    tests: ['a state with every value of its own is opened again'],
  },
  {
    reason: 'They count the statements of the SQLite driver.',
    tests: ['fifty followers with the same filter cost one read'],
  },
  {
    reason: 'A shared store has namespaces: tests/postgres/three-nodes.test.ts lists and deletes them.',
    tests: ['a sandbox with a file has no namespaces'],
  },
]
