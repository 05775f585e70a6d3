/** Path templates of the contract: `/v1/decisions/{slot_id}`. */

const parameter = /\{(\w+)\}/g

/** Returns the names of a template's parameters, in order. */
export function parametersOf(template: string): string[] {
  return Array.from(template.matchAll(parameter), (match) => match[1]!)
}

/** Returns the path with its parameters filled in and percent-encoded. Missing ones become empty. */
export function fillPath(template: string, params: object = {}): string {
  return template.replace(parameter, (_, name: string) =>
    encodeURIComponent(String((params as Readonly<Record<string, unknown>>)[name] ?? '')),
  )
}

/** Returns the template in the notation of routers: `/v1/decisions/:slot_id`. */
export function routeOf(template: string): string {
  return template.replace(parameter, ':$1')
}

/** Returns a pattern that matches every path of the template, with each parameter as a named group. */
export function pathPattern(template: string): RegExp {
  const source = template
    .split(/(\{\w+\})/)
    .map((part) =>
      part.startsWith('{') ? `(?<${part.slice(1, -1)}>[^/]+)` : part.replace(/[.*+?^$|()[\]\\]/g, '\\$&'),
    )
    .join('')
  return new RegExp(`^${source}$`)
}

/** Returns the path of a URL or request target, without query and fragment. */
export function withoutQuery(url: string): string {
  return url.split(/[?#]/, 1)[0]!
}
