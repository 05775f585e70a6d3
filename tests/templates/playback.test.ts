/**
 * The Node and the browser template, recorded by one sandbox and played by another: the same outcomes, frames that render, and
 * accepted beacons, with nothing of the first one left.
 */
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { freePort } from '#tests/cli/process.ts'
import { expectBeacons, openStage, type Stage } from './browser-stage.ts'
import { scaffold } from './scaffolded.ts'

/** The sandbox of a recording has other identifiers, and no demand beside that of the recording is asked. */
function playing(file: string): string[] {
  return ['--playback', file, '--seed', '2']
}

/** The journal of a stage, as a file. */
async function exportJournal(stage: Stage, name: string): Promise<string> {
  const file = join(inject('newcomer'), `${name}.har`)
  await stage.svc('requests', 'export', file, '--force')
  return file
}

/** Expects that every exchange was played, and nothing else was asked for. */
async function expectAllPlayed({ client }: Stage): Promise<void> {
  const { playback } = await client.sandbox.info({})
  expect(playback).toMatchObject({ not_recorded: 0, refused: 0, unplayed: [] })
  expect(playback!.played).toBe(playback!.exchanges)
}

describe('node-server', () => {
  /** Kinds of work, each of which has one format there. */
  const kinds = { code: 'banner', image: 'clip', agent: 'native' } as const

  /** Ten turns of each format, through the server. */
  async function takeTurns(stage: Stage, directory: string): Promise<unknown[]> {
    const port = String(await freePort())
    await using server = await stage.serve(directory, [process.execPath, 'src/main.ts'], { PORT: port })
    let cookie = ''
    const post = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json', cookie }
      const response = await fetch(server.origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
      cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie
      return { status: response.status, body: (await response.json()) as Answer }
    }
    const seen: unknown[] = []
    await post('/api/consent', { decision: 'granted', semantic_targeting: true, prompt_shared: true })
    for (const [job_type, format] of Object.entries(kinds)) {
      for (let turn = 0; turn < 10; turn++) {
        const prompt = { topic: ['coffee', 'running', 'ci'][turn % 3], text: `Question ${turn}` }
        const { status, body } = await post('/api/placement', { job_type, prompt })
        const { placement, decision } = body
        if (placement === null) {
          seen.push([status, decision.no_fill_reason])
          continue
        }
        expect(placement.format).toBe(format)
        const { asset_token, sponsor_name, width, height, render } = placement
        const frame = await fetch(render.frame_url)
        const sent = []
        for (const event of ['render', 'visible']) {
          const beacon_id = `${job_type}-${turn}-${event}`
          const beacon = { beacon_id, asset_token, event, occurred_at_ms: Date.now() }
          sent.push((await post('/api/beacons', beacon)).body.accepted)
        }
        seen.push([status, sponsor_name, width, height, frame.status, ...sent])
      }
    }
    return seen
  }

  interface Answer {
    accepted?: boolean
    decision: { no_fill_reason?: string }
    placement: {
      format: string
      asset_token: string
      sponsor_name: string
      width: number
      height: number
      render: { frame_url: string }
    } | null
  }

  test('plays ten turns of each format', async () => {
    const { directory } = await scaffold('node-server')
    let recorded: unknown[]
    let file: string
    {
      await using stage = await openStage()
      recorded = await takeTurns(stage, directory)
      file = await exportJournal(stage, 'node-server')
    }
    expect(recorded.filter((seen) => Array.isArray(seen) && seen[4] === 200).length).toBeGreaterThan(20)
    await using stage = await openStage(playing(file))
    expect(await takeTurns(stage, directory)).toEqual(recorded)
    await expectAllPlayed(stage)
  })
})

describe('browser-chat', () => {
  const questions = ['How do I make better espresso?', 'Plan my first 10 km run', 'Why does my CI take so long?']

  /** Ten turns in a browser; resolves with the sponsors on the page, each after its view was accepted. */
  async function chat(stage: Stage, directory: string): Promise<string[]> {
    await using server = await stage.serve(directory, [process.execPath, 'server.js'])
    await using page = await stage.open(server.origin)
    await page.decide('Allow', true)
    const viewed = ['render accepted', 'visible accepted +viewable_impression']
    for (let turn = 0; turn < 10; turn++) {
      await page.ask(questions[turn % questions.length]!)
      const { items } = await stage.client.placements.list({ query: { limit: 1 } })
      const [placement] = items
      if (placement?.fill === true) await expectBeacons(stage.client, placement.slot_id, viewed)
    }
    expect(page.complaints).toEqual([])
    return await page.page.locator('[data-sp-label]').allInnerTexts()
  }

  test('plays ten turns, whose frames render and are viewed', async () => {
    const { directory } = await scaffold('browser-chat')
    let recorded: string[]
    let file: string
    {
      await using stage = await openStage()
      recorded = await chat(stage, directory)
      file = await exportJournal(stage, 'browser-chat')
    }
    expect(recorded.length).toBeGreaterThan(5)
    await using stage = await openStage(playing(file))
    expect(await chat(stage, directory)).toEqual(recorded)
    const { playback } = await stage.client.sandbox.info({})
    expect(playback).toMatchObject({ not_recorded: 0, refused: 0 })
  })
})
