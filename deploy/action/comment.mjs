/**
 * Writes reports in Markdown as one comment on the pull request of a workflow: the first run makes it, later ones update
 * it. Used by action.yml:
 *
 *   node comment.mjs REPORT...
 *
 * It reads GITHUB_TOKEN and the variables of the runner, and needs the permission `pull-requests: write`.
 */
import { existsSync, readFileSync } from 'node:fs'

/** GitHub refuses a comment of more than 65,536 characters. */
const maxLength = 65_000
const maxPages = 30

const {
  GITHUB_API_URL = 'https://api.github.com',
  GITHUB_SERVER_URL = 'https://github.com',
  GITHUB_EVENT_PATH = '',
  GITHUB_JOB = '',
  GITHUB_REPOSITORY = '',
  GITHUB_RUN_ID = '',
  GITHUB_TOKEN = '',
  GITHUB_WORKFLOW = '',
} = process.env

/** Begins the comment of this job, so that the next run finds it. */
const marker = `<!-- svc-sandbox ${encodeURIComponent(`${GITHUB_WORKFLOW}/${GITHUB_JOB}`).replaceAll('-', '%2D')} -->`
const summary = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}`

await main(process.argv.slice(2))

async function main(files) {
  const number = pullRequest()
  if (number === null) {
    console.log('This run belongs to no pull request: there is nothing to comment on.')
    return
  }
  const reports = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'))
  const body = `${marker}\n${combine(reports)}`
  const own = await findOwn(number)
  const path = own === null ? `issues/${number}/comments` : `issues/comments/${own}`
  const response = await call(own === null ? 'POST' : 'PATCH', path, { body })
  if (response.ok) {
    const { html_url } = await response.json()
    console.log(`${own === null ? 'Wrote' : 'Updated'} the comment ${html_url}`)
    return
  }
  // The workflow of a fork has a token that only reads. Its result is in the job summary.
  if (response.status === 403 || response.status === 404) {
    const why = `the token may not comment (${response.status}). Grant pull-requests: write; a fork's token never may.`
    console.log(`::warning title=svc::No comment was written: ${why}`)
    return
  }
  throw new Error(`GitHub responded with ${response.status} to the comment: ${(await response.text()).slice(0, 500)}`)
}

/** Returns the number of the pull request that the workflow runs for, or null. */
function pullRequest() {
  if (!existsSync(GITHUB_EVENT_PATH)) return null
  const event = JSON.parse(readFileSync(GITHUB_EVENT_PATH, 'utf8'))
  return event.pull_request?.number ?? (event.issue?.pull_request === undefined ? null : event.issue.number)
}

/** Returns the reports in full if they fit, otherwise what is above the failures of each. */
function combine(reports) {
  if (reports.length === 0) return `## ❌ svc wrote no report\n\nThe log says why: ${summary}\n`
  const whole = reports.join('\n')
  if (whole.length <= maxLength) return whole
  const brief = reports.map((text) => text.split(/^### \d+ failures?$/m, 1)[0]).join('\n')
  return `${brief.slice(0, maxLength)}\nThe failures are in the job summary, because they are too long for a comment: ${summary}\n`
}

/** Resolves to the id of the comment that this token wrote, or null: another's could be changed by its author later. */
async function findOwn(number) {
  const author = await login()
  for (let page = 1; page <= maxPages; page++) {
    const response = await call('GET', `issues/${number}/comments?per_page=100&page=${page}`)
    if (!response.ok) return null
    const comments = await response.json()
    const own = comments.find(({ body, user }) => body?.startsWith(marker) && user?.login === author)
    if (own !== undefined) return own.id
    if (comments.length < 100) return null
  }
  return null
}

/** The token of a workflow may not ask who it is. */
async function login() {
  const response = await send('GET', `${GITHUB_API_URL}/user`)
  return response.ok ? (await response.json()).login : 'github-actions[bot]'
}

function call(method, path, body) {
  return send(method, `${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/${path}`, body)
}

function send(method, url, body) {
  return fetch(url, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${GITHUB_TOKEN}`,
      'content-type': 'application/json',
      'user-agent': 'svc-sandbox',
      'x-github-api-version': '2022-11-28',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}
