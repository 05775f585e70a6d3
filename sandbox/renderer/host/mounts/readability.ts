/** Whether a person can read the ad label: its box, text, styles and contrast. */
export interface LabelParts {
  label: HTMLElement
  frame: HTMLElement
  text: string
}

const minFontPx = 8
const minContrast = 3

/** Attributes that take the label from screen readers, or give it another meaning. */
const forbidden = ['hidden', 'inert', 'role', 'aria-hidden', 'aria-label']

/** Whether the label can be read, or is hidden together with its ad, which then does not count either. */
export function isReadable({ label, frame, text }: LabelParts): boolean {
  // A translated label has other words, in <font> elements.
  const words = label.textContent?.trim()
  if (!words || (words !== text && !label.querySelector('font'))) return false
  if (forbidden.some((name) => label.hasAttribute(name))) return false
  const ad = frame.getBoundingClientRect()
  if (!ad.width || !ad.height) return true
  const { fontSize, color, backgroundColor, visibility, opacity, filter } = getComputedStyle(label)
  return (
    // Without the page's own scale: an ad shown as a thumbnail has a label as small, and does not count.
    label.offsetWidth > 0 &&
    label.offsetHeight >= minFontPx &&
    label.getBoundingClientRect().bottom <= ad.top + 1 &&
    Number.parseFloat(fontSize) >= minFontPx &&
    visibility === getComputedStyle(frame).visibility &&
    Number(opacity) > 0.5 &&
    filter === 'none' &&
    contrast(color, backgroundColor) >= minContrast
  )
}

/** Returns the contrast of two colours by WCAG, 1 to 21; of notations other than rgb() 21. */
function contrast(...colors: [string, string]): number {
  const shares = colors.map(luminance)
  return (Math.max(...shares) + 0.05) / (Math.min(...shares) + 0.05) || 21
}

function luminance(color: string): number {
  const [r, g, b] = (color.match(/^rgba?\((\d+), (\d+), (\d+)/) ?? []).slice(1).map((value) => {
    const share = Number(value) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
