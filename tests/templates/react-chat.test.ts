import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectBeacons, placementsSince } from './browser-stage.ts'
import { describeChat, question, viewed } from './chat.ts'
import { testTemplate } from './own-test.ts'
import { scaffold } from './scaffolded.ts'

const node = process.execPath
const vite = 'node_modules/vite/bin/vite.js'

testTemplate('react-chat')
describeChat({ template: 'react-chat', build: [vite, 'build'], serve: [vite, 'preview', '--port', '0'] }, (stage) => {
  test('requests once under StrictMode, which mounts twice', async () => {
    const project = await scaffold('react-chat')
    await using server = await stage().serve(project.directory, [node, join(project.directory, vite), '--port', '0'])
    const since_ms = Date.now()
    await using chat = await stage().open(server.origin)
    await chat.decide('Allow')
    await chat.ask(question)
    const placements = await placementsSince(stage().client, since_ms)
    expect(placements).toHaveLength(1)
    await expectBeacons(stage().client, placements[0]!.slot_id, viewed)
    expect(chat.asked.filter((line) => line === 'POST /v1/placements')).toHaveLength(1)
    expect(chat.complaints).toEqual([])
  })
})
