/** Styles an element of the host page so that the page's own rules do not change it. Allowed under a strict CSP. */
export function dress(element: HTMLElement, styles: Record<string, string>): void {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value, 'important')
}
