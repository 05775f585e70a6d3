/** Elements of XML 1.0 as text. */

/** An element with its attributes, and content that is already XML. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  content: readonly string[],
): string {
  const head = Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${attribute(String(value))}"`)
    .join('')
  if (content.length === 0) return `<${name}${head}/>`
  const isText = content.every((part) => !part.startsWith('<'))
  return isText
    ? `<${name}${head}>${content.join('')}</${name}>`
    : `<${name}${head}>\n${content.join('\n')}\n</${name}>`
}

/** Text as content. */
export function text(value: string): string {
  return allowed(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function attribute(value: string): string {
  return text(value)
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\t', '&#9;')
    .replaceAll('\r', '&#13;')
}

/** Characters that XML 1.0 does not have, not even as references, are removed: control characters, lone surrogates. */
function allowed(value: string): string {
  return value.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, '')
}
