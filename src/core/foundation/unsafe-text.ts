/**
 * Characters that can change how the text around them is read: on a terminal, in a page, in a file. They are shown as
 * escapes, no matter who sent them.
 */

/**
 * C0 except tab and line end, DEL, C1, and characters that change the reading direction or invisibly break lines. `\r`
 * counts unless a line end follows. Half a surrogate pair would reach a terminal as bytes that are not a character.
 */
export const unsafe =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|\r(?!\n)|\p{Surrogate}/gu

export function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * Returns a text of somebody else for one line of a message: characters that change how it is read are escapes, tabs and line
 * ends blanks.
 */
export function plainLine(text: string): string {
  return text.replace(/[\t\n\r]+/g, ' ').replace(unsafe, escapeCharacter)
}
