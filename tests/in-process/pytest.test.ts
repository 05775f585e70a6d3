/** The fixture for pytest that Python templates contain: `svc_sandbox.py`, in a project of its own. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf } from '../docs/markdown.ts'
import { checkout, environment } from '../templates/run.ts'
import { findPytest } from '../templates/toolchains.ts'
import { temporaryDirectory } from '../temporary.ts'
import { writeProject } from './project.ts'

/** Without one, vitest.config.ts leaves this file out. */
const python = findPytest()!
const fixture = readFileSync(join(checkout, 'templates/_shared/python-tests/svc_sandbox.py'), 'utf8')
const conftest = 'from svc_sandbox import svc_sandbox, svc_sandbox_session\n'

/** An integration, and tests of it. */
const turn = `
import json, os, urllib.request, urllib.error

def send(sandbox, path, body):
    headers = {"Authorization": "Bearer " + sandbox.env["SVC_SECRET_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(sandbox.env["SVC_BASE_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)

def place(sandbox):
    return send(sandbox, "/v1/placements", {"client_id": sandbox.client_id, "session_id": "s1", "job_type": "chat"})

def report(sandbox, placed, event):
    import time
    ids = {"beacon_id": placed["slot_id"] + event, "asset_token": placed["placement"]["asset_token"]}
    return send(sandbox, "/v1/beacons", {**ids, "event": event, "occurred_at_ms": int(time.time() * 1000)})
`

const passing = `
import pytest, urllib.error
from turn import place, report

def test_reads_placements_and_accepted_beacons(svc_sandbox):
    placed = place(svc_sandbox)
    assert [item["slot_id"] for item in svc_sandbox.placements(session_id="s1")] == [placed["slot_id"]]
    assert svc_sandbox.placements(session_id="s2") == []
    assert svc_sandbox.beacons() == []
    report(svc_sandbox, placed, "render")
    assert svc_sandbox.wait_for_beacon("render", slot_id=placed["slot_id"])["verdict"] == "accepted"
    assert [item["event"] for item in svc_sandbox.beacons()] == ["render"]
    assert svc_sandbox.beacons("visible") == svc_sandbox.beacons(verdict="rejected") == []
    assert [item["path"] for item in svc_sandbox.requests(path="/v1/beacons")] == ["/v1/beacons"]

def test_the_next_test_has_none_of_it(svc_sandbox):
    assert svc_sandbox.placements() == svc_sandbox.beacons() == svc_sandbox.requests() == []

def test_forces_a_no_fill(svc_sandbox):
    svc_sandbox.force_no_fill()
    assert place(svc_sandbox)["decision"]["fill"] is False

def test_a_reset_ends_it(svc_sandbox):
    assert place(svc_sandbox)["decision"]["fill"] is True

def test_uses_a_scenario(svc_sandbox):
    svc_sandbox.use_scenario("banner_ok")
    assert place(svc_sandbox)["placement"]["format"] == "banner"

def test_fails_on_demand(svc_sandbox):
    svc_sandbox.fail("/v1/placements", 429, retry_after_s=1, times=1)
    with pytest.raises(urllib.error.HTTPError) as caught:
        place(svc_sandbox)
    assert (caught.value.code, caught.value.headers["Retry-After"]) == (429, "1")
    assert place(svc_sandbox)["status"] == "ready"

def test_pages(svc_sandbox, monkeypatch):
    monkeypatch.setattr("svc_sandbox.PAGE_SIZE", 2)
    for _ in range(5):
        place(svc_sandbox)
    assert len({item["slot_id"] for item in svc_sandbox.placements()}) == 5

def test_says_what_came_instead(svc_sandbox):
    report(svc_sandbox, place(svc_sandbox), "render")
    with pytest.raises(AssertionError, match=r"No visible beacon was accepted in 0.01 s. Beacons: render accepted\\."):
        svc_sandbox.wait_for_beacon("visible", timeout_s=0.01)
    with pytest.raises(AssertionError, match="POST /_sandbox/scenarios/nothing: 404"):
        svc_sandbox.use_scenario("nothing")

def test_of_the_session(svc_sandbox_session):
    assert len(svc_sandbox_session.placements()) == 1
    print("PID", svc_sandbox_session.control("GET", "info")["pid"])
`

test('tests get a sandbox, reset before each, that is gone after the last', async () => {
  const directory = writeProject('pytest', {
    'svc_sandbox.py': fixture,
    'conftest.py': conftest,
    'turn.py': turn,
    'test_turn.py': passing,
  })
  const { code, output } = await pytest(directory)
  expect(output).toContain('9 passed')
  expect(code).toBe(0)
  const pid = Number(/PID (\d+)/.exec(output)?.[1])
  expect(pid).toBeGreaterThan(0)
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

test('the tests of the guide pass', async () => {
  const blocks = blocksOf('docs/guides/testing.md').filter(({ language }) => language === 'python')
  const files = Object.fromEntries(blocks.map(({ flags, text }) => [flags.file!, text]))
  expect(Object.keys(files)).toEqual(['conftest.py', 'test_ads.py'])
  const directory = writeProject('pytest-guide', { 'svc_sandbox.py': fixture, ...files })
  const { code, output } = await pytest(directory)
  expect(output).toContain('2 passed')
  expect(code).toBe(0)
})

test('without svc, without Node and with an old one, each test fails with what to do', async () => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, 'svc_sandbox.py'), fixture)
  writeFileSync(join(directory, 'conftest.py'), conftest)
  writeFileSync(join(directory, 'test_one.py'), 'def test_one(svc_sandbox):\n    pass\n')
  const bare = { PATH: join(directory, 'bin') }
  mkdirSync(bare.PATH)
  const missing = await pytest(directory, bare)
  expect(missing.code).toBe(1)
  expect(missing.output).toContain('svc is not installed: neither svc-sandbox in a node_modules here or above')

  const installed = join(directory, 'node_modules/svc-sandbox')
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(checkout, installed)
  const withoutNode = await pytest(directory, bare)
  expect(withoutNode.code).toBe(1)
  expect(withoutNode.output).toContain('svc needs Node 22.19 or later, and there is none on the PATH')

  writeFileSync(
    join(bare.PATH, 'node'),
    '#!/bin/sh\necho "svc needs Node 22.19 or later; this is Node 18." >&2\nexit 1\n',
  )
  chmodSync(join(bare.PATH, 'node'), 0o755)
  const withOldNode = await pytest(directory, bare)
  expect(withOldNode.code).toBe(1)
  expect(withOldNode.output).toContain('svc start ended with exit code 1')
  expect(withOldNode.output).toContain('this is Node 18.')
})

/** Runs the tests of a folder; resolves with the exit code, and what was printed. */
function pytest(cwd: string, env: Record<string, string> = {}): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...environment(), PYTHONDONTWRITEBYTECODE: '1', ...env } }
    execFile(python, ['-m', 'pytest', '-s', '-p', 'no:cacheprovider'], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr })
    })
  })
}
