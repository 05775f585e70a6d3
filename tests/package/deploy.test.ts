/** The files of deploy/: they parse, are built safely, and name only flags, variables and paths that exist. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { startEnvironment, startFlags } from '#cli/settings/start-options.ts'
import { settingsTable } from '#cli/settings/table.ts'
import { contract } from '#contract/index.ts'

const read = (name: string) => readFileSync(join(import.meta.dirname, '../../deploy', name), 'utf8')
const files = ['compose.yaml', 'kubernetes.yaml', 'Containerfile'] as const

type Yaml = { [name: string]: Yaml } & { [index: number]: Yaml }

/** The value behind `${NAME:?...}`, as compose puts it in. */
const filled = (text: string) => text.replaceAll(/\$\{\w+:\?[^}]*\}/g, 'password')

describe.each(files)('deploy/%s', (name) => {
  const text = read(name)

  test('names only flags of svc start, with values that they take', () => {
    const flags = startFlags()
    const lists = [...text.matchAll(/\["start", ([^\]]+)\]/g)].map(([, words]) => JSON.parse(`[${words}]`) as string[])
    expect(lists.length).toBeGreaterThan(0)
    for (const words of lists) {
      for (let index = 0; index < words.length; index += 2) {
        const option = [...flags.values()].find(({ long }) => long === words[index])
        expect(option, words[index]).toBeDefined()
        expect(() => option!.parseArg?.(words[index + 1] as never, undefined as never)).not.toThrow()
      }
    }
  })

  test('names only variables of svc and paths of the control plane that need no token', () => {
    const variables = new Set<string>([
      ...Object.values(settingsTable).map(({ env }) => env),
      ...[...startFlags().values()].flatMap(({ description }) => /; (SVC_\w+)$/.exec(description)?.[1] ?? []),
    ])
    for (const [variable] of text.matchAll(/\bSVC_[A-Z_]+\b/g)) expect(variables).toContain(variable)
    const open = [contract['health.live'].path, contract['health.ready'].path]
    for (const [path] of text.matchAll(/\/_sandbox\/[a-z]+/g)) expect(open).toContain(path)
  })
})

test('compose starts a database, two nodes and a balancer that asks both', () => {
  const { services, volumes, configs } = parse(filled(read('compose.yaml')), { merge: true }) as Record<string, Yaml>
  expect(Object.keys(services!)).toEqual(['database', 'node-1', 'node-2', 'balancer'])
  for (const name of ['node-1', 'node-2']) {
    expect(services![name]).toMatchObject({ user: '1000:1000', read_only: true, cap_drop: ['ALL'], tmpfs: ['/tmp'] })
    expect(configs!.balancer!.content).toContain(`server ${name} ${name}:4010 check`)
    const values = startEnvironment(services![name]!.environment as unknown as Record<string, string>)
    expect(values).toMatchObject({ drain: 4_000, store: 'postgres://svc:password@database:5432/svc' })
  }
  expect(Object.keys(volumes!)).toEqual(['database'])
  // The balancer must notice before the node ends, and compose must not kill it before.
  expect(Number.parseInt(String(services!['node-1']!.stop_grace_period), 10)).toBeGreaterThan(4 + 5)
})

test('the image runs without root, asks readyz, and gets the signal that drains', () => {
  const text = read('Containerfile')
  const lines = text.split('\n').filter((line) => /^[A-Z]+ /.test(line))
  expect(lines.filter((line) => line.startsWith('FROM '))).toHaveLength(2)
  expect(lines.indexOf('USER 1000:1000')).toBeLessThan(lines.findIndex((line) => line.startsWith('ENTRYPOINT')))
  expect(text).toContain("fetch('http://127.0.0.1:4010/_sandbox/readyz')")
  expect(lines).toContain('STOPSIGNAL SIGTERM')
  const { engines } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    engines: { node: string }
  }
  expect(Number(/node:(\d+)/.exec(text)?.[1])).toBeGreaterThanOrEqual(Number(/(\d+)/.exec(engines.node)?.[1]))
})

test('kubernetes gets a deployment and its service, with probes that a sandbox answers', () => {
  const [deployment, service, ...others] = parseAllDocuments(read('kubernetes.yaml')).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Yaml
  })
  expect([deployment!.kind, service!.kind, others.length]).toEqual(['Deployment', 'Service', 0])
  const pod = deployment!.spec!.template!
  expect(pod.metadata!.labels).toEqual(deployment!.spec!.selector!.matchLabels)
  expect(service!.spec!.selector).toEqual(pod.metadata!.labels)
  const container = pod.spec!.containers![0]!
  expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
  expect(pod.spec!.securityContext).toMatchObject({ runAsNonRoot: true })
  for (const probe of ['readinessProbe', 'livenessProbe']) {
    expect(container[probe]!.httpGet).toMatchObject({
      port: 'http',
      httpHeaders: [{ name: 'Host', value: 'localhost' }],
    })
  }
  const drain = (container.env as unknown as { name: string; value: string }[]).find(({ name }) => name === 'SVC_DRAIN')
  expect(Number(pod.spec!.terminationGracePeriodSeconds) * 1_000).toBeGreaterThan(Number(drain!.value) + 5_000)
  expect(String(service!.spec!.ports![0]!.targetPort)).toBe('http')
})

describe('the Helm chart', () => {
  const template = read('helm/svc-sandbox/templates/sandbox.yaml')
  const values = parse(read('helm/svc-sandbox/values.yaml')) as Yaml

  test('takes only values that it declares, and declares none that it does not take', () => {
    const taken = [...template.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => path!)
    for (const path of taken) {
      const found = path.split('.').reduce<Yaml | undefined>((value, name) => value?.[name], values)
      expect(found, path).toBeDefined()
    }
    const { metrics, ...others } = values
    const declared = [...Object.keys(others), ...Object.keys(metrics!).map((name) => `metrics.${name}`)]
    expect(declared.filter((path) => !taken.includes(path))).toEqual([])
    expect(parse(read('helm/svc-sandbox/Chart.yaml'))).toMatchObject({ apiVersion: 'v2', name: 'svc-sandbox' })
  })

  test('closes every block that it opens, and names only variables, paths and flags that exist', () => {
    const actions = [...template.matchAll(/\{\{-? *(\w+)/g)].map(([, word]) => word!)
    const opened = actions.filter((word) => word === 'if' || word === 'range' || word === 'with')
    expect(actions.filter((word) => word === 'end')).toHaveLength(opened.length)
    const variables = [...startFlags().values()].flatMap(
      ({ description }) => /; (SVC_\w+)$/.exec(description)?.[1] ?? [],
    )
    for (const [variable] of template.matchAll(/\bSVC_[A-Z_]+\b/g)) expect(variables).toContain(variable)
    const paths = (['health.live', 'health.ready', 'sandbox.metrics'] as const).map((id) => contract[id].path)
    for (const [path] of template.matchAll(/\/_sandbox\/[a-z]+/g)) expect(paths).toContain(path)
    expect(template).toContain('args: ["start", "--host", "0.0.0.0", "--port", "4010"]')
  })

  test('has the deployment and the service of kubernetes.yaml', () => {
    // The template without its actions: what stands there in any case, and the name of the release.
    const plain = template
      .replaceAll(/^ *\{\{-? *(?:if|range|end)[^\n]*\n/gm, '')
      .replaceAll('{{ .Release.Name }}', 'svc-sandbox')
      .replaceAll(/\{\{[^}]*\}\}/g, 'value')
    const [deployment, service, monitor] = parseAllDocuments(plain).map((document) => document.toJS() as Yaml)
    const [own, ownService] = parseAllDocuments(read('kubernetes.yaml')).map((document) => document.toJS() as Yaml)
    const [pod, ownPod] = [deployment, own].map((each) => each!.spec!.template!.spec!)
    const container = (each: Yaml) => {
      const { env: _, image: _image, resources: _resources, ...fixed } = each.containers![0]!
      return fixed
    }
    expect(container(pod!)).toEqual(container(ownPod!))
    const { containers: _, ...rest } = pod!
    const { containers: _own, ...ownRest } = ownPod!
    expect(rest).toEqual(ownRest)
    expect(service!.spec).toEqual(ownService!.spec)
    expect(values.resources).toEqual(ownPod!.containers![0]!.resources)
    expect(monitor!.spec!.selector!.matchLabels).toEqual(service!.metadata!.labels)
  })
})
