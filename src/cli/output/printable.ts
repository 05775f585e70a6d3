/**
 * Text that cannot steer a terminal. Every stream of the command line is guarded: on a terminal each control character is
 * written out, as `\u001b`, no matter who sent it. Codes of this program itself pass because they carry a secret of the process,
 * which no stored or received text knows; the guard removes it, so a value is never styled by what it contains.
 */
import { type Host, type HostStream, hostWith } from '../run/host.ts'

/**
 * C0 except tab and line end, DEL, C1, and characters that change the reading direction or break lines unseen. `\r` counts
 * unless a line end follows. Half a surrogate pair would reach a terminal as bytes of no character.
 */
const unsafe =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|\r(?!\n)|\p{Surrogate}/gu
/** Most texts are checked by this alone. */
const isPlain = /^[\t\n -~]*$/
const isOneLine = /^[^\t\n\r]*$/

/** Drawn once a process, where a stream has colours or redraws a line. Its form is one that measures of width strip. */
let secret: string | undefined
let ownCode: RegExp | undefined
let ownClipboard: RegExp | undefined
let ownOrUnsafe: RegExp | undefined

/** Returns a control sequence of this program, such as `31m` or `K`, in the form that only the guard of a stream passes. */
export function ownControl(code: string): string {
  return `\u001b[${ownSecret()};${code}`
}

/**
 * Returns the control sequence OSC 52, which puts a text into the clipboard, in the form that only the guard of a stream
 * passes. The text is in it as base64 alone.
 */
export function clipboardControl(text: string): string {
  return `\u001b]${ownSecret()};52;c;${Buffer.from(text).toString('base64')}\u0007`
}

function ownSecret(): string {
  secret ??= [...crypto.getRandomValues(new Uint16Array(4))].map((part) => 1_000 + (part % 9_000)).join(';')
  ownCode ??= new RegExp(`\\u001b\\[${secret};([\\d;]*[A-Za-z])`, 'g')
  ownClipboard ??= new RegExp(`\\u001b\\]${secret};(52;c;[A-Za-z0-9+/=]*\\u0007)`, 'g')
  ownOrUnsafe ??= new RegExp(`${ownCode.source}|${ownClipboard.source}|${unsafe.source}`, 'gu')
  return secret
}

/** Returns a text with its control characters written out: `\u001b`. Tabs and line ends stay, and codes of this program. */
export function printable(text: string): string {
  if (isPlain.test(text)) return text
  return text.replace(ownOrUnsafe ?? unsafe, (found) => (found.length > 2 ? found : escaped(found)))
}

/** Returns a text for one line: as `printable`, with a blank in place of tabs and line ends. */
export function oneLine(text: string): string {
  return printable(isOneLine.test(text) ? text : text.replace(/[\t\n\r]+/g, ' '))
}

/** Returns a text for one line without its control characters, as of a paste: tabs and line ends become blanks. */
export function withoutControls(text: string): string {
  return text.replace(/[\t\n\r]+/g, ' ').replace(unsafe, '')
}

/** Returns JSON that is safe on a terminal and equal to the value: JSON.stringify escapes C0 only. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(unsafe, escaped)
}

/** Returns what a stream gets: a terminal printable text, anything else the exact one; both with plain control codes. */
export function streamText(text: string, is_terminal: boolean): string {
  const safe = is_terminal ? printable(text) : text
  if (ownCode === undefined || ownClipboard === undefined) return safe
  return safe.replace(ownCode, '\u001b[$1').replace(ownClipboard, '\u001b]$1')
}

/** Returns the host with guarded streams. Commands get no other. */
export function guardedHost(host: Host): Host {
  const stdout = guarded(() => host.stdout)
  const stderr = guarded(() => host.stderr)
  return hostWith(host, { stdout, stderr })
}

/** Reading the properties of a stream opens it, so each is read when it is needed. */
function guarded(stream: () => HostStream): HostStream {
  return {
    write(text) {
      const to = stream()
      to.write(streamText(text, to.is_terminal))
    },
    get is_terminal() {
      return stream().is_terminal
    },
    get columns() {
      return stream().columns
    },
    get rows() {
      return stream().rows
    },
  }
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
