/** Tests of tests/http that are about files of SQLite only, by a part of their name. */
export const filesOnly: readonly { reason: string; tests: readonly string[] }[] = [
  {
    reason: 'In memory or in a file: here both are a namespace, and the tests of a file run.',
    tests: ['of a sandbox in memory > '],
  },
  {
    reason: 'They damage the pages of the file: tests/postgres/nodes.test.ts damages rows.',
    tests: ['rows that their table forbids are reported', 'a damaged page is reported in both parts'],
  },
  {
    reason: 'The key is in a file beside the database, with rights of its own; here it is a row.',
    tests: ['the key of the install is not in the database, and only its owner can read it'],
  },
  {
    reason: 'A shared store has namespaces: tests/postgres/two-nodes.test.ts lists and deletes them.',
    tests: ['a sandbox with a file has no namespaces, and no second file until it has tokens'],
  },
  {
    reason: 'The audit list is in a file beside the database; here it is rows, committed as all others are.',
    tests: ['an entry of the audit list does not wait for the disk'],
  },
  {
    reason: 'A database that nodes share counts its events on for ever: no follower is of an earlier start.',
    tests: ['of a follower of an earlier start'],
  },
]
