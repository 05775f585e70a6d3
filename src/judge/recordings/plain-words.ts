/** Texts that other parts of an exchange have too, so that they are no credentials: addresses, dates, and words with numbers. */

/** A word, in any of the spellings of names, with a number at most: `hostedFrame`, `v1`, `300x250`. */
const plainWord =
  /^(?:(?:[A-Z]?[a-z]{1,20}(?:[A-Z][a-z]{2,19}){0,3}|[A-Z]{1,20})\d{0,4}|\d{1,4}[a-z]{1,10}|\d+|\d{1,5}x\d{1,5})$/
const date = /^\d{4}-?\d{2}-?\d{2}(?:$|[T_ ]\d{2})/

/** Whether a text is a path or a URL of the web. */
export function isAddress(text: string): boolean {
  return /^(?:(?:http|ws)s?:\/\/|\/[a-z][a-z\d_-]{0,30}(?:[/?]|$))/i.test(text)
}

/** Whether a text is an address, a date, or consists of words and numbers. */
export function isPlain(text: string): boolean {
  return (
    isAddress(text) ||
    date.test(text) ||
    text.split(/[^A-Za-z\d]+/).every((word) => word === '' || plainWord.test(word))
  )
}
