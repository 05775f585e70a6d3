/** Code that sets the environment of a project, for five stacks. */
import type { SeededProject } from '../../data/session.ts'
import type { CodeVariant } from '../../parts/Code.tsx'

export function environmentSnippets(base_url: string, project: SeededProject): CodeVariant[] {
  const variables: readonly (readonly [name: string, value: string])[] = [
    ['SVC_BASE_URL', base_url],
    ['SVC_CLIENT_ID', project.client_id],
    ['SVC_SECRET_KEY', project.secret_key],
    ['SVC_PUBLISHABLE_KEY', project.publishable_key],
  ]
  const lines = (line: (name: string, value: string) => string) =>
    variables.map(([name, value]) => line(name, value)).join('\n')
  const port = new URL(base_url).port
  return [
    { id: 'shell', title: 'Shell', code: lines((name, value) => `export ${name}=${value}`) },
    {
      id: 'node',
      title: 'Node',
      code: `# .env, read by: node --env-file=.env server.js\n${lines((name, value) => `${name}=${value}`)}`,
    },
    {
      id: 'python',
      title: 'Python',
      code: `import os\n\n${lines((name, value) => `os.environ.setdefault("${name}", "${value}")`)}`,
    },
    { id: 'php', title: 'PHP', code: `<?php\n${lines((name, value) => `putenv('${name}=${value}');`)}` },
    {
      id: 'compose',
      title: 'Docker Compose',
      code: [
        `# On this computer: svc start --host 0.0.0.0 --allowed-host host.docker.internal`,
        'services:',
        '  app:',
        '    environment:',
        ...variables.map(([name, value], index) =>
          index === 0 ? `      ${name}: http://host.docker.internal:${port}` : `      ${name}: ${value}`,
        ),
        '    extra_hosts:',
        '      - host.docker.internal:host-gateway',
      ].join('\n'),
    },
  ]
}
