/** Extensions, reading aids and style sheets that reach into every page. */
import { type Kind, shownOnce } from './case.ts'

/**
 * `everywhere(visit)` calls `visit` for every element of the section, now and later, through open shadow roots, as extensions
 * do. It stops after `limit` visits of one element.
 */
const everywhere = `
const visits = new WeakMap()
const everywhere = (visit, limit = 50) => {
  const touch = (element) => {
    const count = visits.get(element) ?? 0
    if (count < limit) { visits.set(element, count + 1); visit(element) }
    if (element.shadowRoot) watch(element.shadowRoot)
  }
  const watched = new Set()
  const watch = (root) => {
    if (watched.has(root)) return
    watched.add(root)
    const all = () => root.querySelectorAll('*').forEach(touch)
    new MutationObserver(all).observe(root, { childList: true, subtree: true, attributes: true, characterData: true })
    all()
  }
  watch(section)
  const poll = setInterval(() => section.querySelectorAll('*').forEach((each) => each.shadowRoot && watch(each.shadowRoot)), 20)
  setTimeout(() => clearInterval(poll), 20000)
}
`

/** The label of the ad, wherever it is. */
const label = `(section.querySelector('[data-sp-placement]')?.shadowRoot ?? section).querySelector('[data-sp-label]')`

const restored = { ...shownOnce, no_events: ['error label_removed', 'cleared'], stays: true } as const

export const extensions: Kind = {
  title: 'Extensions, reading aids and style sheets',
  pages: [
    {
      name: 'extensions',
      cases: [
        {
          id: 'stamped-attribute',
          does: 'A security extension sets an attribute on every element, and again when it is removed.',
          happens: 'The ad stays: the label can still be read.',
          script: `${everywhere}
everywhere((element) => element.hasAttribute('data-checked-by') || element.setAttribute('data-checked-by', '1'))
start()`,
          phases: [restored],
        },
        {
          id: 'stamped-class',
          does: 'A writing assistant adds a class to every element.',
          happens: 'The ad stays.',
          script: `${everywhere}
everywhere((element) => element.classList.contains('writing-aid') || element.classList.add('writing-aid'))
start()`,
          phases: [restored],
        },
        {
          id: 'marked-style',
          does: 'A dark mode marks inline styles, overrides their colours with readable ones and insists.',
          happens: 'The ad stays.',
          script: `${everywhere}
everywhere((element) => {
  if (!element.style || element.style.getPropertyValue('--dark-text') === '#e8e6e3') return
  element.setAttribute('data-dark-inline', '')
  element.style.setProperty('--dark-text', '#e8e6e3')
  element.style.setProperty('color', '#e8e6e3', 'important')
  if (!element.matches('iframe')) element.style.setProperty('background-color', '#181a1b', 'important')
})
start()`,
          phases: [restored],
        },
        {
          id: 'inverted',
          does: 'A dark mode inverts the colours of the page with a filter.',
          happens: 'The ad stays and counts: a filter of colours hides nothing.',
          html: '<div style="filter:invert(1) hue-rotate(180deg)"><div class="slot"></div></div>',
          phases: [restored],
        },
        {
          id: 'translated',
          does: 'A translator replaces each text by a translated one in font elements.',
          happens: 'The ad stays, its label in the other language.',
          script: `${everywhere}
everywhere((element) => {
  if (element.matches('font') || element.closest('font')) return
  for (const node of [...element.childNodes]) {
    if (node.nodeType !== 3 || node.data.trim() === '') continue
    const font = document.createElement('font')
    font.append(Object.assign(document.createElement('font'), { textContent: 'Gesponsert von ' + node.data }))
    node.replaceWith(font)
  }
})
start()`,
          phases: [{ ...restored, values: { [`/Gesponsert/.test(${label}.textContent)`]: true } }],
        },
        {
          id: 'larger-text',
          does: 'A toolbar sets the size of all text to 24 pixels, once, when its user asks for it.',
          happens: 'The label keeps that size, and the ad stays.',
          phases: [
            { ...shownOnce },
            {
              ...restored,
              run: `const grow = (root) => root.querySelectorAll('*').forEach((each) => {
  each.style?.setProperty('font-size', '24px', 'important')
  if (each.shadowRoot) grow(each.shadowRoot)
})
grow(section)`,
              values: { [`getComputedStyle(${label}).fontSize`]: '24px' },
            },
          ],
        },
        {
          id: 'reading-font',
          does: 'A reading aid gives all text its own font, spacing and line height.',
          happens: 'The ad stays.',
          script: `${everywhere}
everywhere((element) => {
  if (!element.style || element.style.fontFamily === 'monospace') return
  element.style.setProperty('font-family', 'monospace', 'important')
  element.style.setProperty('letter-spacing', '2px', 'important')
  element.style.setProperty('line-height', '2', 'important')
})
start()`,
          phases: [restored],
        },
        {
          id: 'drop-caps',
          does: 'The style sheet of the page has drop caps, ::before marks and a reset for everything in an article.',
          happens: 'They do not reach the label: it is in a shadow root.',
          // Its marks are drawn far to the left, where other cases have their ads.
          html: `<style>
#drop-caps article { overflow: hidden }
#drop-caps article div::first-letter { font-size: 80px; float: left; line-height: 1 }
#drop-caps article *::before { content: "★ " }
#drop-caps article div::first-line { letter-spacing: 20px }
#drop-caps article * { all: unset; display: block; text-transform: uppercase; text-indent: -9999px }
</style><article><div class="slot"></div></article>`,
          phases: [
            {
              ...restored,
              values: {
                [`${label}.getBoundingClientRect().height < 40`]: true,
                [`getComputedStyle(${label}, '::before').content`]: 'none',
              },
            },
          ],
        },
      ],
    },
    {
      name: 'labels',
      cases: [
        {
          id: 'label-removed-once',
          does: 'A script removes the label once.',
          happens: 'The label is restored, and the ad stays.',
          phases: [shownOnce, { ...restored, run: `${label}.remove()` }],
        },
        {
          id: 'label-in-its-own-colour',
          does: 'A script gives the label the colour of what is behind it.',
          happens: 'The label is restored, and the ad stays.',
          phases: [
            shownOnce,
            {
              ...restored,
              run: `${label}.style.cssText += ';color:rgb(255,255,255)!important;background:rgb(255,255,255)!important'`,
            },
          ],
        },
        {
          id: 'label-hidden-by-sheet',
          does: 'A style sheet that an extension adds to the shadow root hides the label.',
          happens: 'The label is still shown: its own styles are stronger. The ad stays.',
          phases: [
            shownOnce,
            {
              ...restored,
              run: `const sheet = new CSSStyleSheet()
sheet.replaceSync('[data-sp-label] { display: none !important }')
const wrapper = section.querySelector('[data-sp-placement]')
if (wrapper.shadowRoot) wrapper.shadowRoot.adoptedStyleSheets = [...wrapper.shadowRoot.adoptedStyleSheets, sheet]
else document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]`,
            },
          ],
        },
        {
          id: 'label-hidden-again',
          does: 'An extension hides the label as often as it is drawn again.',
          happens: 'The ad is cleared: none is shown without its label.',
          phases: [
            shownOnce,
            {
              run: `setInterval(() => ${label}?.style.setProperty('display', 'none', 'important'), 5)`,
              frames: 0,
              labels: 0,
              events: ['error label_removed', 'cleared'],
            },
          ],
        },
        {
          id: 'label-faded-again',
          does: 'An extension makes the label transparent as often as it is drawn again.',
          happens: 'The ad is cleared.',
          phases: [
            shownOnce,
            {
              run: `setInterval(() => ${label}?.style.setProperty('opacity', '0', 'important'), 5)`,
              frames: 0,
              events: ['error label_removed', 'cleared'],
            },
          ],
        },
        {
          id: 'label-removed-again',
          does: 'A script removes the label as often as it is restored.',
          happens: 'The ad is cleared.',
          phases: [
            shownOnce,
            {
              run: `setInterval(() => ${label}?.remove(), 5)`,
              frames: 0,
              events: ['error label_removed', 'cleared'],
            },
          ],
        },
      ],
    },
  ],
}
