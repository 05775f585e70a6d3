import { expect, test } from 'vitest'
import { openDatabase } from './open.ts'
import { clearAll } from './state.ts'

test('every table of the schema is cleared but the catalogues, those of later migrations included', () => {
  const { db, close } = openDatabase(':memory:', 1)
  try {
    db.exec(`CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT; INSERT INTO later VALUES (1);
      INSERT INTO meta VALUES ('name', 'value'); INSERT INTO catalogue (sha256, demand) VALUES ('a', '{}')`)
    clearAll(db)
    const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
    expect([count('later'), count('meta'), count('catalogue')]).toEqual([0, 0, 1])
  } finally {
    close()
  }
})
