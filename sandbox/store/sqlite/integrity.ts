import type Database from 'better-sqlite3'

const mostProblems = 20

/** What SQLite finds wrong: broken pages, and rows that their own table forbids. */
export function quickCheck(db: Database.Database): string[] {
  const lines = db.prepare(`PRAGMA quick_check(${mostProblems})`).pluck().all() as string[]
  return lines.filter((line) => line !== 'ok')
}
