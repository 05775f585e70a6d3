/** Code that creates a placement of a project, in each language. */
import type { SeededProject } from '../../data/session.ts'
import type { CodeVariant } from '../../parts/Code.tsx'

export function placementSnippets(base_url: string, { client_id, secret_key }: SeededProject): CodeVariant[] {
  const body = {
    client_id,
    session_id: 'first-session',
    job_type: 'chat',
    prompt: { topic: 'coffee' },
    overrides: { allowed_formats: ['banner'] },
  }
  const url = `${base_url}/v1/placements`
  const json = JSON.stringify(body, null, 2)
  const indented = (prefix: string) => json.replaceAll('\n', `\n${prefix}`)
  return [
    {
      id: 'curl',
      title: 'curl',
      code: `curl ${url} \\\n  -H 'Authorization: Bearer ${secret_key}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`,
    },
    { id: 'cli', title: 'svc', code: 'svc placements create --format banner --topic coffee\nsvc open frame' },
    {
      id: 'typescript',
      title: 'TypeScript',
      code: `const response = await fetch('${url}', {\n  method: 'POST',\n  headers: {\n    authorization: 'Bearer ${secret_key}',\n    'content-type': 'application/json',\n  },\n  body: JSON.stringify(${indented('  ')}),\n})\nconst placement = await response.json()\nconsole.log(placement.decision)`,
    },
    {
      id: 'python',
      title: 'Python',
      code: `import json, urllib.request\n\nrequest = urllib.request.Request(\n    "${url}",\n    data=json.dumps(${indented('    ')}).encode(),\n    headers={\n        "Authorization": "Bearer ${secret_key}",\n        "Content-Type": "application/json",\n    },\n)\nprint(json.load(urllib.request.urlopen(request))["decision"])`,
    },
    {
      id: 'php',
      title: 'PHP',
      code: `<?php\n$body = ${renderPhp(body, '')};\n$context = stream_context_create(['http' => [\n    'method' => 'POST',\n    'header' => "Authorization: Bearer ${secret_key}\\r\\nContent-Type: application/json",\n    'content' => json_encode($body),\n]]);\necho file_get_contents('${url}', false, $context);`,
    },
  ]
}

function renderPhp(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return `'${String(value)}'`
  const inner = `${indent}    `
  const entries = Object.entries(value).map(([name, part]) =>
    Array.isArray(value) ? `${inner}${renderPhp(part, inner)},` : `${inner}'${name}' => ${renderPhp(part, inner)},`,
  )
  return `[\n${entries.join('\n')}\n${indent}]`
}
