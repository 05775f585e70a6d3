/** What page caches, carousels and frameworks do to the element of an ad: they copy it, move it and throw it away. */
import { empty, type Kind, shownOnce } from './case.ts'

const once = { ...shownOnce, stays: true } as const
const remounted = { ...once, wrappers: 1 } as const

export const copies: Kind = {
  title: 'Copied, moved and redrawn',
  pages: [
    {
      name: 'copies',
      cases: [
        {
          id: 'snapshot-restored',
          does: 'A page cache puts a copy of the content back, as Turbo does, and runs the code of the page again with the same turnId.',
          happens: 'The ad is mounted again: one request, one frame, one view.',
          html: '<main><div class="slot"></div></main>',
          script: `section.visit = () => start({ target: section.querySelector('.slot'), turnId: 'snapshot-restored' })
section.visit()`,
          phases: [
            shownOnce,
            {
              run: `const main = section.querySelector('main')
section.copy = main.cloneNode(true)
main.replaceWith(Object.assign(document.createElement('main'), { textContent: 'Another page' }))`,
              frames: 0,
            },
            {
              ...remounted,
              run: `section.querySelector('main').replaceWith(section.copy)
section.visit()`,
            },
          ],
        },
        {
          id: 'history-restored',
          does: 'A page cache restores the content from its markup, as htmx does, and the code starts another turn.',
          happens: 'The other turn has its own ad, and the slot has one frame.',
          html: '<main><div class="slot"></div></main>',
          script: `section.visit = () => start({ target: section.querySelector('.slot') })
section.visit()`,
          phases: [
            shownOnce,
            {
              run: `const main = section.querySelector('main')
section.copy = main.innerHTML
main.innerHTML = '<p>Another page</p>'`,
              frames: 0,
            },
            {
              run: `section.querySelector('main').innerHTML = section.copy
section.visit()`,
              placements: 2,
              beacons: [...shownOnce.beacons, ...shownOnce.beacons],
              frames: 1,
              wrappers: 1,
              stays: true,
            },
          ],
        },
        {
          id: 'history-restored-only',
          does: 'A page cache restores the content from its markup, and nothing asks for an ad again.',
          happens: 'The copy is empty: nothing is shown or counted a second time.',
          html: '<main><div class="slot"></div></main>',
          phases: [
            shownOnce,
            {
              run: `const main = section.querySelector('main')
const copy = main.innerHTML
main.innerHTML = '<p>Another page</p>'
setTimeout(() => { main.innerHTML = copy })`,
              placements: 1,
              beacons: shownOnce.beacons,
              frames: 0,
              stays: true,
            },
          ],
        },
        {
          id: 'carousel-copies',
          does: 'A carousel copies its slides before and after them, and removes their ids.',
          happens: 'The copies are empty: one frame, one view.',
          html: '<ul style="display:flex;width:310px;overflow:hidden;margin:0;padding:0;list-style:none"><li style="flex:none;width:310px"><div class="slot"></div></li></ul>',
          phases: [
            shownOnce,
            {
              ...once,
              wrappers: 3,
              labels: 1,
              run: `const slide = section.querySelector('li')
for (const place of ['before', 'after']) {
  const copy = slide.cloneNode(true)
  copy.querySelectorAll('[id]').forEach((each) => each.removeAttribute('id'))
  slide[place](copy)
}
section.querySelector('ul').scrollLeft = 310`,
            },
            {
              ...empty,
              run: 'SponsoredPlacement.clearPlacement({ target: slot })',
              events: ['cleared'],
            },
          ],
        },
        {
          id: 'copy-with-shadow',
          does: 'A recorder copies the slot with the contents of its shadow root, as declarative shadow DOM does.',
          happens: 'The copied frame shows nothing, and nothing is counted a second time.',
          phases: [
            shownOnce,
            {
              run: `const wrapper = section.querySelector('[data-sp-placement]')
const copy = document.createElement('div')
copy.style.cssText = 'position:absolute;left:0;top:0;width:300px;height:250px'
copy.attachShadow({ mode: 'open' }).append(...[...(wrapper.shadowRoot ?? wrapper).childNodes].map((each) => each.cloneNode(true)))
section.append(copy)`,
              placements: 1,
              beacons: shownOnce.beacons,
              stays: true,
            },
          ],
        },
        {
          id: 'kept-alive',
          does: 'A framework detaches the element of a view and attaches it again, as keep-alive does, and the same turn starts again.',
          happens: 'The ad is there again without a request, and is not counted twice.',
          script: `section.go = () => start({ turnId: 'kept-alive' })
section.go()`,
          phases: [
            shownOnce,
            { run: 'slot.remove()', frames: 0 },
            {
              ...remounted,
              run: `section.append(slot)
section.go()`,
            },
          ],
        },
        {
          id: 'moved',
          does: 'The page moves the slot to another place while its ad is shown.',
          happens: 'The ad moves with it: one request, one frame, one view.',
          html: '<main><div class="slot"></div></main><footer></footer>',
          script: `start({ turnId: 'moved' })`,
          phases: [shownOnce, { ...remounted, run: `section.querySelector('footer').append(slot)` }],
        },
        {
          id: 'moved-while-requesting',
          does: 'The page moves the slot before the placement has arrived.',
          happens: 'The ad is shown in the new place, once.',
          html: '<main><div class="slot"></div></main><footer></footer>',
          script: `start({ turnId: 'moved-while-requesting' })
section.querySelector('footer').append(slot)`,
          phases: [once],
        },
        {
          id: 'redrawn',
          does: 'A chat renders its whole answer again with every word, and starts the same turn on the new element.',
          happens: 'One request, one frame, one view, however often it is redrawn.',
          script: `let words = 0
const timer = setInterval(() => {
  section.innerHTML = '<p style="margin:0">' + 'w '.repeat(++words) + '</p><div class="slot"></div>'
  start({ target: section.querySelector('.slot'), turnId: 'redrawn' })
  if (words === 30) clearInterval(timer)
}, 50)`,
          phases: [{ ...once, no_events: ['error target_removed', 'error late_decision'] }],
        },
        {
          id: 'redrawn-without-a-call',
          does: 'An effect starts the turn once, and the page redraws the slot under a selector afterwards.',
          happens: 'Starting the same turn again brings the ad back without a request.',
          script: `section.go = () => start({ target: '#redrawn-without-a-call .slot', turnId: 'redrawn-without-a-call' })
section.go()`,
          phases: [
            shownOnce,
            { run: `section.innerHTML = '<div class="slot"></div>'`, frames: 0 },
            { ...remounted, run: 'section.go()' },
          ],
        },
      ],
    },
    {
      name: 'two-copies-of-the-script',
      head: `<script src="{origin}/v1/render.js"></script>
<script>window.first = SponsoredPlacement; delete window.SponsoredPlacement</script>
<script src="{origin}/v1/render.js"></script>`,
      cases: [
        {
          id: 'two-copies-of-the-script',
          does: 'Two bundles of the page bring a copy of render.js each, and start the same turn on the same slot.',
          happens: 'One ad, counted once.',
          script: `const options = { target: slot, turnId: 'two', endpoint: '/api/placement', body, keepMounted: true }
first.startTurn(options)
SponsoredPlacement.startTurn(options)`,
          phases: [{ beacons: shownOnce.beacons, frames: 1, wrappers: 1, labels: 1, stays: true }],
        },
      ],
    },
    {
      name: 'script-twice',
      head: `<script src="{origin}/v1/render.js"></script><script src="{origin}/v1/render.js"></script>`,
      cases: [
        {
          id: 'script-twice',
          does: 'The page has the script element twice.',
          happens: 'The second copy leaves the first in place: one request, one ad, counted once.',
          script: `start({ turnId: 'script-twice' })`,
          phases: [once],
        },
      ],
    },
    {
      name: 'destroyed',
      cases: [
        {
          id: 'destroyed',
          does: 'The page copies a slot with its ad, and later calls destroy().',
          happens: 'The ad and its copies are removed.',
          phases: [
            shownOnce,
            { run: 'section.append(slot.cloneNode(true))', wrappers: 2, frames: 1 },
            { run: 'SponsoredPlacement.destroy()', ...empty },
          ],
        },
      ],
    },
    {
      name: 'consent-expires',
      cases: [
        {
          id: 'consent-expires',
          does: 'The page copies a slot with its ad, and then the consent expires.',
          happens: 'The ad and its copies are removed.',
          script: `start({ body: { ...body, consent_expires_in_ms: 15_000 } })`,
          phases: [
            { frames: 1, wrappers: 1 },
            { run: 'section.append(slot.cloneNode(true))', wrappers: 2 },
            { ...empty, events: ['blocked consent_expired'] },
          ],
        },
      ],
    },
  ],
}
