/** Ads that nobody can see, and some that look so and can be seen: their size, the effects on them, and what covers them. */
import { type Kind, type PageCase, shownOnce, unseen } from './case.ts'

/** Wraps the slot into an element with a style. */
const within = (style: string, inside = '<div class="slot"></div>') => `<div style="${style}">${inside}</div>`

const notBilled = 'Rendered, and never billed as a view.'
const billed = 'Counted: it can be seen.'

/** A case in which the ad is rendered and can be seen by nobody. */
const hidden = (id: string, does: string, html: string, more: Partial<PageCase> = {}): PageCase => ({
  id,
  does,
  happens: notBilled,
  html,
  phases: [unseen],
  ...more,
})

/** A case in which the ad can be seen, although something is over or around it. */
const visible = (id: string, does: string, html: string): PageCase => ({
  id,
  does,
  happens: billed,
  html,
  phases: [shownOnce],
})

/** An ad that is smaller than 50 pixels, whose view the service may refuse. */
const tooSmall = (id: string, does: string, html: string): PageCase =>
  hidden(id, does, html, { phases: [{ ...unseen, optional_beacons: ['visible TOO_SMALL'] }] })

export const effects: Kind = {
  title: 'Size and effects',
  pages: [
    {
      name: 'effects',
      cases: [
        tooSmall('slot-of-a-pixel', 'The slot is one pixel wide.', within('width:1px')),
        tooSmall(
          'squeezed',
          'A flex row squeezes the slot to ten pixels.',
          within(
            'display:flex;width:310px',
            '<div style="flex:none;width:300px">A long answer that does not shrink.</div><div class="slot" style="min-width:0;flex:1 1 0"></div>',
          ),
        ),
        tooSmall(
          'thumbnail',
          'The page is scaled to a thumbnail of itself.',
          within('transform:scale(.02);transform-origin:0 0;width:300px'),
        ),
        tooSmall('miniature', 'A preview is scaled so that the ad is 45 pixels wide.', within('zoom:.15;width:300px')),
        visible('scaled-a-little', 'The slot is scaled to four fifths.', within('transform:scale(.8);width:300px')),
        hidden('filter-opacity', 'A filter makes it transparent.', within('filter:opacity(0)')),
        hidden(
          'opacity-multiplied',
          'Three elements around it are dimmed: a sixteenth of it remains.',
          within('opacity:.4', within('opacity:.4', within('opacity:.4'))),
        ),
        visible('opacity-of-a-theme', 'A theme dims it a little.', within('opacity:.9')),
        hidden('blurred', 'A paywall blurs the content.', within('filter:blur(24px)')),
        hidden('blurred-by-eight', 'A blur of 8 pixels is over it.', within('filter:blur(8px)')),
        hidden(
          'backface',
          'It is the back of a card that is turned to the front.',
          within('transform:rotateY(180deg);backface-visibility:hidden'),
        ),
        hidden('edge-on', 'The card is seen from its edge.', within('transform:rotateY(90deg)'), {
          phases: [{ placements: 1, beacons: ['render OK'], stays: true }],
        }),
      ],
    },
    {
      name: 'jumping',
      cases: [
        {
          id: 'jumping',
          does: 'A script scrolls it between two places, each with more than half of it in view, and announces each.',
          happens: billed,
          html: within(
            'height:250px;width:310px;overflow:auto',
            '<p style="margin:0;height:300px"></p><div class="slot"></div><p style="margin:0;height:300px"></p>',
          ),
          // What listens to the event looks before the browser has reported what is in view now.
          script: `start()
const box = slot.parentElement
setInterval(() => {
  section.places = (section.places ?? 0) + 1
  box.scrollTop = section.places % 2 ? 265 : 428
  document.dispatchEvent(new Event('visibilitychange'))
}, 300)`,
          phases: [shownOnce],
        },
      ],
    },
    {
      name: 'shrunk',
      cases: [
        {
          id: 'shrunk',
          does: 'It becomes smaller where it is, with the same part of it in view.',
          happens: billed,
          html: within('width:310px;overflow:hidden'),
          // The share in view stays as it is, and so does the corner: the browser reports nothing new by itself.
          script: `start()
const box = slot.parentElement
const shrink = () => { box.style.transform = 'scale(.6)' }
const waiting = setInterval(() => {
  const frame = slot.querySelector('[data-sp-placement]')?.shadowRoot.querySelector('iframe')
  if (!frame?.offsetHeight) return
  clearInterval(waiting)
  const { x, y } = box.getBoundingClientRect()
  const inside = frame.getBoundingClientRect()
  box.style.height = inside.y - y + inside.height * 0.605 + 'px'
  box.style.transformOrigin = (inside.x - x) + 'px ' + (inside.y - y) + 'px'
  setTimeout(shrink, 400)
}, 50)`,
          phases: [shownOnce],
        },
      ],
    },
    {
      name: 'effects-2',
      cases: [
        hidden(
          'masked',
          'A mask hides it.',
          within(
            '-webkit-mask-image:linear-gradient(transparent,transparent);mask-image:linear-gradient(transparent,transparent)',
          ),
        ),
        hidden('clipped', 'A clip path leaves nothing of it.', within('clip-path:inset(50% 50% 50% 50%)')),
        visible(
          'rounded',
          'A card with round corners clips its edges.',
          within('border-radius:16px;overflow:hidden;width:300px'),
        ),
        hidden('black', 'A filter makes it black.', within('filter:brightness(0)')),
        hidden(
          'behind',
          'It is behind the content of the page, by its z-index.',
          within(
            'position:relative;isolation:isolate;width:300px;height:280px',
            '<div style="position:absolute;top:0;z-index:-1"><div class="slot"></div></div><div style="position:relative;background:#fff;height:280px">The page</div>',
          ),
        ),
        hidden('collapsed', 'It is in an accordion whose height is 0.', within('height:0;overflow:hidden')),
        hidden(
          'off-the-page',
          'It is moved off the page, as texts for screen readers are.',
          within('position:absolute;left:-9999px'),
        ),
        hidden('invisible', 'Its visibility is hidden.', within('visibility:hidden')),
      ],
    },
  ],
}

/** A slot with something over it. */
const under = (cover: string) =>
  `<div style="position:relative;width:300px;height:280px"><div class="slot"></div>${cover}</div>`
const over = 'position:absolute;inset:0;'

/** A case in which something covers the ad and is then removed by `run`. */
const uncovered = (id: string, does: string, html: string, run: string, more: Partial<PageCase> = {}): PageCase => ({
  id,
  does,
  happens: 'Not counted while it is covered, counted once when it can be seen.',
  html,
  phases: [unseen, { ...shownOnce, run }],
  ...more,
})

export const covers: Kind = {
  title: 'Covers',
  pages: [
    {
      name: 'covers',
      cases: [
        uncovered(
          'covered',
          'A panel of the page lies over it, and is closed.',
          under(`<div class="cover" style="${over}background:#fff">Menu</div>`),
          `section.querySelector('.cover').remove()`,
        ),
        uncovered(
          'covered-without-pointer',
          'An opaque layer that lets clicks through lies over it, and is removed.',
          under(`<div class="cover" style="${over}background:#fff;pointer-events:none">Loading</div>`),
          `section.querySelector('.cover').remove()`,
        ),
        uncovered(
          'under-a-header',
          'A sticky header covers two thirds of it, and shrinks until the label can be read.',
          under(`<div class="cover" style="${over}bottom:80px;background:#eee">Header</div>`),
          `section.querySelector('.cover').style.bottom = '272px'`,
        ),
        uncovered(
          'covered-by-a-picture',
          'A picture lies over it, and is removed.',
          under(
            `<img class="cover" alt="" style="${over}width:300px;height:280px" src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='300' height='280'%3E%3Crect width='300' height='280' fill='teal'/%3E%3C/svg%3E">`,
          ),
          `section.querySelector('.cover').remove()`,
        ),
        visible(
          'under-toasts',
          'The empty container of toasts lies over the whole page.',
          under(`<div style="${over}pointer-events:none"></div>`),
        ),
        visible(
          'under-a-catcher',
          'A transparent element catches clicks over it.',
          under(`<div style="${over}"></div>`),
        ),
        visible(
          'under-a-faded-layer',
          'A layer of opacity 0 stays over it after its animation.',
          under(`<div style="${over}background:#fff;opacity:0;pointer-events:none">Gone</div>`),
        ),
        visible(
          'under-a-badge',
          'A badge covers a corner of it.',
          under('<div style="position:absolute;right:0;bottom:0;width:60px;height:60px;background:#c00">1</div>'),
        ),
      ],
    },
    {
      name: 'modal',
      cases: [
        uncovered(
          'modal',
          'A modal dialog covers the page, and is closed.',
          '<div class="slot"></div><dialog style="width:100vw;height:100vh;max-width:none;max-height:none;margin:0;border:0;background:#fff">Subscribe</dialog><script>document.querySelector("dialog").showModal()</script>',
          `section.querySelector('dialog').close()`,
        ),
      ],
    },
    {
      name: 'consent-wall',
      cases: [
        uncovered(
          'consent-wall',
          'A consent wall covers the page, and is answered.',
          '<div class="slot"></div><div class="cover" style="position:fixed;inset:0;background:#fff;z-index:9">Your privacy</div>',
          `section.querySelector('.cover').remove()`,
        ),
      ],
    },
    {
      name: 'backdrop',
      cases: [
        uncovered(
          'backdrop',
          'A small dialog with an opaque backdrop is open, and is closed.',
          '<style>dialog::backdrop{background:#222}</style><div class="slot"></div><dialog style="margin:auto 0 0 auto;width:200px;height:80px">Cookies</dialog><script>document.querySelector("dialog").showModal()</script>',
          `section.querySelector('dialog').close()`,
        ),
      ],
    },
  ],
}
