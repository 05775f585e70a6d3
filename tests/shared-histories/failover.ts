/**
 * Failovers between two servers: the primary dies, is made read-only or goes on unaware, its standby is promoted, and some time
 * later the old primary, which may have come back as it was, becomes the standby of the new one.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Member, Replicated } from '#tests/postgres/replicated.ts'
import type { DatabaseControl, FaultKind } from './faults.ts'

const ends = ['killed', 'killed, and started again as it was', 'made read-only', 'left alone'] as const

interface Failovers {
  /** What the nodes are given. */
  readonly store: string
  readonly database: DatabaseControl
  readonly fault: FaultKind
}

/** @param namesBoth whether the URL of the nodes has both servers; otherwise its address leads to the primary, and moves */
export function createFailovers(servers: Replicated, namesBoth: boolean): Failovers {
  let primary = servers.one
  let standby = servers.other
  let last: Promise<void> = Promise.resolve()
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work)
    return last
  }

  return {
    store: namesBoth ? servers.url : primary.url,
    database: {
      restart: (mode) =>
        inTurn(async () => {
          if (mode === 'fast') await primary.stop()
          else await primary.kill()
          await primary.start()
        }),
    },
    fault: {
      name: 'failover',
      run: ({ cluster, dice, note }) =>
        inTurn(async () => {
          const end = dice.pick(ends)
          note(`the primary is ${end}`)
          await endPrimary(primary, end)
          await pause(dice.below(700))
          await standby.promote()
          note('the standby is promoted')
          if (!namesBoth) {
            for (const { proxy } of cluster.nodes) proxy.retarget(standby.port)
          }
          if (end === 'killed, and started again as it was') await primary.start()
          await pause(500 + dice.below(2_500))
          const old = primary
          primary = standby
          standby = old
          await standby.follow(primary)
          await primary.setSynchronous('*')
          note('the old primary is its standby')
        }),
    },
  }
}

async function endPrimary(primary: Member, end: (typeof ends)[number]): Promise<void> {
  if (end === 'killed' || end === 'killed, and started again as it was') return primary.kill()
  if (end === 'left alone') return
  await primary.query('ALTER SYSTEM SET default_transaction_read_only = on')
  await primary.query('SELECT pg_reload_conf()')
}
