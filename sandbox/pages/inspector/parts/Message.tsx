import { parseExactly } from '#foundation/json/exact-numbers.ts'
import { isObject } from '#foundation/json.ts'
import { Json, type JsonProps } from './Json.tsx'
import { TabSet } from './TabSet.tsx'

/** A text that is not code: a body that is not JSON. */
function TextBlock({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section className="scroller text-body" tabIndex={0} aria-label={label}>
      {text}
    </section>
  )
}

interface BodyProps extends Omit<JsonProps, 'value'> {
  text: string | null
}

/** A body as it was sent: a tree where it is JSON, else its text. */
export function Body({ text, ...props }: BodyProps) {
  if (text === null || text === '') return <p className="faint pad">No body.</p>
  const value = parseExactly(text)
  return value === undefined ? <TextBlock text={text} label={props.label} /> : <Json value={value} {...props} />
}

interface MessageProps extends Omit<BodyProps, 'label'> {
  /** `Request` or `Response`. */
  title: string
  headers: Readonly<Record<string, string>>
}

export function Message({ title, headers, ...body }: MessageProps) {
  const fields = (
    <dl className="headers">
      {Object.entries(headers).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
  return (
    <TabSet
      label={`Parts of the ${title.toLowerCase()}`}
      tabs={[
        { id: 'body', title: 'Body', content: <Body {...body} label={`${title} body`} /> },
        { id: 'headers', title: `Headers ${Object.keys(headers).length}`, content: fields },
      ]}
    />
  )
}

/** Returns the problem of each field of a request according to an error response: the marks of its body. */
export function listMarks(response: unknown): Readonly<Record<string, string>> {
  const fields = isObject(response) && Array.isArray(response.fields) ? response.fields : []
  return Object.fromEntries(
    fields.flatMap((field) => {
      if (!isObject(field) || typeof field.path !== 'string') return []
      const expected = typeof field.expected === 'string' ? `; expected ${field.expected}` : ''
      return [[field.path, `${String(field.message ?? '')}${expected}`]]
    }),
  )
}
