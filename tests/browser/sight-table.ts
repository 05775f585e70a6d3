/**
 * What a person can see of an ad, as data: the innocent pages first, then the guilty ones, then what nobody can know. Each is judged in
 * one page, in every engine, and is a row of docs/renderer.md.
 */

export interface SightCase {
  /** The row of the documentation. */
  what: string
  /** Markup with one element of class `slot`. Default: a slot alone. */
  html?: string
  /** Statements that run after the ad is in the slot. `slot`, `label` and `frame` are there. */
  script?: string
  /** What `setViewport` was given. */
  viewport?: { top: number; left: number; width: number; height: number }
  is: 'seen' | 'not_seen' | 'unmeasured'
  /** The reason, where it is not that of its group. */
  reason?: string
  /** Where IntersectionObserver v2 does not say more. */
  elsewhere?: { is: SightCase['is']; reason?: string }
}

export interface SightGroup {
  title: string
  /** Which signals decide. A sentence of the documentation. */
  signal: string
  cases: readonly SightCase[]
}

const within = (style: string, inside = '<div class="slot"></div>') => `<div style="${style}">${inside}</div>`
const under = (cover: string) =>
  `<div style="position:relative;width:300px;height:280px"><div class="slot"></div>${cover}</div>`
/** Over the ad and its label; and with clicks passing through it. */
const over = 'position:absolute;inset:0;'
const passing = `${over}pointer-events:none;`
const wall = 'position:fixed;inset:0;z-index:9;'
const svg = (inside: string) =>
  `url(&quot;data:image/svg+xml,${encodeURIComponent(`<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100'>${inside}</svg>`)}&quot;)`

const seen = (what: string, html: string, more: Partial<SightCase> = {}): SightCase => ({
  what,
  html,
  is: 'seen',
  ...more,
})
const unseen = (what: string, html: string, more: Partial<SightCase> = {}): SightCase => ({
  what,
  html,
  is: 'not_seen',
  ...more,
})
const unknown = (what: string, html: string, more: Partial<SightCase> = {}): SightCase => ({
  what,
  html,
  is: 'unmeasured',
  ...more,
})

const transforms: SightGroup = {
  title: 'Turned, tilted, scaled, moved',
  signal:
    'IntersectionObserver, for the viewport and clipping ancestors; hit tests at 25 points of the ad itself, turned with it.',
  cases: [
    seen('nothing', '<div class="slot"></div>'),
    ...[
      'rotate(-2deg)',
      'rotate(-6deg)',
      'rotate(45deg) scale(.8)',
      'rotate(180deg)',
      'skew(2deg)',
      'scaleX(-1)',
      'scale(.7)',
      'translate(10px, 4px)',
      'perspective(600px) rotateY(25deg)',
      'perspective(900px) rotateX(20deg)',
    ].map((transform) => seen(`\`${transform}\``, within(`transform:${transform};width:300px;margin:40px`))),
    seen('`rotate` and `scale`, the properties', within('rotate:8deg;scale:.9;width:300px;margin:40px')),
    seen('a list that is mirrored twice', within('transform:scaleY(-1)', within('transform:scaleY(-1)'))),
    seen('columns', within('columns:2;height:300px;width:640px', '<p>Text</p><div class="slot"></div>')),
    seen('zoom', within('zoom:1.2')),
    seen('a scroll area', within('height:320px;overflow:auto')),
    unseen('turned to its edge', within('transform:rotateY(90deg)')),
    unseen('the back of a card', within('transform:rotateY(180deg);backface-visibility:hidden')),
  ],
}

const effects: SightGroup = {
  title: 'Opacity, filters, masks, clipping',
  signal: 'Computed styles of the ad and of everything around it, multiplied. Linear gradients of masks at each point.',
  cases: [
    seen('an opacity of .9', within('opacity:.9')),
    seen('opacities that leave half', within('opacity:.72', within('opacity:.7'))),
    seen('a dark mode by `invert(1) hue-rotate(180deg)`', within('filter:invert(1) hue-rotate(180deg)')),
    seen('`grayscale(1)`, `sepia(.5)`, `saturate(2)`', within('filter:grayscale(1) sepia(.5) saturate(2)')),
    seen('`drop-shadow`', within('filter:drop-shadow(0 2px 4px #000)')),
    seen('`blur(1px)`', within('filter:blur(1px)')),
    seen('round corners', within('border-radius:16px;overflow:hidden;width:300px')),
    seen(
      'a mask that fades the ends of a scroll area',
      within(
        'height:420px;-webkit-mask-image:linear-gradient(transparent,#000 10px,#000 90%,transparent);mask-image:linear-gradient(transparent,#000 10px,#000 90%,transparent)',
      ),
    ),
    seen(
      'a mask that is opaque',
      within('-webkit-mask-image:linear-gradient(#000,#000);mask-image:linear-gradient(#000,#000)'),
    ),
    seen('a clip path around it', within('clip-path:inset(0);width:300px')),
    unseen('an opacity of .18', within('opacity:.18')),
    unseen('opacity 0', within('opacity:0')),
    unseen('`opacity(.5)` twice in one filter', within('filter:opacity(.5) opacity(.5)')),
    unseen('`brightness(.5)` on two elements', within('filter:brightness(.5)', within('filter:brightness(.5)'))),
    unseen('`invert(.5)`', within('filter:invert(.5)')),
    unseen('`contrast(.1)`', within('filter:contrast(.1)')),
    unseen('`blur(8px)`', within('filter:blur(8px)')),
    unseen('`blur(3px)` twice', within('filter:blur(3px) blur(3px)')),
    unseen('`visibility: hidden`', within('visibility:hidden')),
    unseen(
      'a mask that hides it',
      within(
        '-webkit-mask-image:linear-gradient(transparent,transparent);mask-image:linear-gradient(transparent,transparent)',
      ),
    ),
    unseen('a clip path that leaves nothing', within('clip-path:inset(50%)')),
    unseen('an accordion of height 0', within('height:0;overflow:hidden')),
    unseen('off the page', within('position:absolute;left:-9999px')),
    unknown(
      'a mask that is a picture',
      within(
        `-webkit-mask-image:${svg("<rect width='9' height='9'/>")};mask-image:${svg("<rect width='9' height='9'/>")}`,
      ),
    ),
    unknown('blending', within('mix-blend-mode:multiply')),
  ],
}

const covers: SightGroup = {
  title: 'Covers',
  signal:
    'IntersectionObserver v2 where it confirms; else what hit tests meet above the ad, and what they cannot meet, by the order of painting.',
  cases: [
    seen('the empty container of toasts', under(`<div style="${passing}"></div>`)),
    seen('a layer that leaves 75 %', under(`<div style="${over}background:rgb(0 0 0/.25)"></div>`)),
    seen('a layer that leaves 60 %, for no clicks', under(`<div style="${passing}background:rgba(0,0,0,.4)"></div>`)),
    seen('a layer of opacity 0', under(`<div style="${over}background:#fff;opacity:0">Gone</div>`)),
    seen(
      'a layer whose parent is invisible',
      under(`<div style="opacity:0"><div style="${over}background:#fff">Gone</div></div>`),
    ),
    seen('a layer of `visibility: hidden`', under(`<div style="${over}background:#fff;visibility:hidden"></div>`)),
    seen(
      'a badge over a corner',
      under('<div style="position:absolute;right:0;bottom:0;width:60px;height:60px;background:#c00">1</div>'),
    ),
    seen(
      'a gradient without alpha',
      under(`<div style="${over}background:linear-gradient(rgba(0,0,0,0),transparent)"></div>`),
    ),
    seen(
      'a gradient over its last fifth',
      under(`<div style="${passing}background:linear-gradient(transparent 80%,#000)"></div>`),
    ),
    seen('`backdrop-filter: blur(0)`', under(`<div style="${over}backdrop-filter:blur(0px)"></div>`)),
    seen('a blank canvas', under(`<canvas width="300" height="280" style="${passing}"></canvas>`)),
    seen('a blank video', under(`<video style="${over}width:300px;height:280px"></video>`)),
    seen('a blank frame', under(`<iframe style="${over}border:0;width:300px;height:280px"></iframe>`)),
    seen('an image without a picture', under(`<img alt="" style="${over}width:300px;height:280px">`)),
    seen(
      'a faint watermark, repeated over the page',
      under(
        `<div style="${wall}pointer-events:none;background-image:${svg("<text y='50' fill='rgba(0,0,0,.08)'>user 42</text>")}"></div>`,
      ),
    ),
    seen(
      'an SVG that draws a line',
      under(`<svg style="${over}width:300px;height:280px"><path d="M0 0L300 280" stroke="red"/></svg>`),
    ),
    seen(
      'a decoration below it',
      within(
        'position:relative;isolation:isolate;width:300px',
        `<div style="${passing}z-index:-1;background:#000"></div><div class="slot"></div>`,
      ),
    ),
    seen(
      'the ::before of the page, below it',
      '<style>body::before{content:"";position:fixed;inset:0;z-index:-1;background:#123;pointer-events:none}</style><div class="slot"></div>',
    ),
    seen(
      'the shadow of a card around it',
      within('box-shadow:0 0 40px 10px #000, inset 0 0 2px #000;padding:20px;width:300px'),
    ),
    seen('a line of text over it', under(`<p style="${passing}margin:0;top:120px">New</p>`)),
    unseen('a white panel', under(`<div style="${over}background:#fff">Menu</div>`)),
    unseen('a black panel, `rgb(0, 0, 0)`', under(`<div style="${over}background:rgb(0, 0, 0)"></div>`)),
    unseen('a panel in `oklch()`', under(`<div style="${over}background:oklch(0.7 0.1 20)"></div>`)),
    unseen('an opaque layer that lets clicks through', under(`<div style="${passing}background:#fff">Loading</div>`)),
    unseen(
      'the same, all below a skew of two degrees',
      within('transform:skew(2deg);width:300px;margin:30px', under(`<div style="${passing}background:#fff"></div>`)),
    ),
    unseen(
      'three layers that leave a quarter',
      under(`<div style="${over}background:#000;opacity:.4"></div>`.repeat(3)),
    ),
    unseen(
      'a wall drawn by ::after of the page',
      '<style>body::after{content:"";position:fixed;inset:0;background:#fff;z-index:9}</style><div class="slot"></div>',
    ),
    unseen(
      'the same, letting clicks through',
      '<style>body::after{content:"";position:fixed;inset:0;background:#fff;z-index:9;pointer-events:none}</style><div class="slot"></div>',
    ),
    unseen('a wall in a shadow root', under('<x-wall></x-wall>'), {
      script: `document.querySelector('x-wall').attachShadow({ mode: 'open' }).innerHTML = '<div style="position:fixed;inset:0;background:#fff;z-index:99">Privacy</div>'`,
    }),
    unseen(
      'the shadow of a tour',
      under(
        '<div style="position:fixed;top:500px;left:700px;width:100px;height:40px;box-shadow:0 0 0 9999px #111"></div>',
      ),
    ),
    unseen('a thick border', under(`<div style="${over}border:140px solid #000;box-sizing:border-box"></div>`)),
    unseen(
      'a thick outline',
      under(
        '<div style="position:absolute;top:400px;left:0;width:300px;height:10px;outline:600px solid #000;pointer-events:none"></div>',
      ),
    ),
    unseen('a gradient that is opaque', under(`<div style="${over}background:linear-gradient(#fff,#000)"></div>`)),
    unseen('a layer that blurs what is behind it', under(`<div style="${over}backdrop-filter:blur(12px)"></div>`)),
    unseen('a canvas that was painted', under(`<canvas width="300" height="280" style="${over}"></canvas>`), {
      script: `document.querySelector('canvas').getContext('2d').fillRect(0, 0, 300, 280)`,
    }),
    unseen(
      'a frame of the page with a text',
      under(
        `<iframe srcdoc="<body style='background:white'>Chat</body>" style="${over}border:0;width:300px;height:280px"></iframe>`,
      ),
    ),
    unseen(
      'an SVG that fills it',
      under(`<svg style="${over}width:300px;height:280px"><rect width="300" height="280" fill="#000"/></svg>`),
    ),
    unseen(
      'a dialog with an opaque backdrop',
      '<style>dialog::backdrop{background:#222}</style><div class="slot"></div><dialog style="margin:auto 0 0 auto;width:200px;height:80px">Cookies</dialog>',
      {
        script: `document.querySelector('dialog').showModal()`,
      },
    ),
    unseen(
      'a dialog whose backdrop blurs',
      '<style>dialog::backdrop{background:none;backdrop-filter:blur(20px)}</style><div class="slot"></div><dialog style="margin:auto 0 0 auto;width:200px;height:80px">Cookies</dialog>',
      {
        script: `document.querySelector('dialog').showModal()`,
      },
    ),
    unseen(
      'the content of the page, by its z-index',
      within(
        'position:relative;isolation:isolate;width:300px;height:280px',
        '<div style="position:absolute;top:0;z-index:-1"><div class="slot"></div></div><div style="position:relative;background:#fff;height:280px">The page</div>',
      ),
    ),
    unknown(
      'a picture of another site',
      under(`<div style="${over}background:url(https://example.invalid/a.png)"></div>`),
    ),
    unknown('a layer that is blended', under(`<div style="${over}background:#fff;mix-blend-mode:multiply"></div>`)),
    unknown(
      'a frame of another origin',
      under(`<iframe sandbox srcdoc="<p>Chat" style="${over}border:0;width:300px;height:280px"></iframe>`),
    ),
    unknown('a wall in a closed shadow root', under('<x-closed></x-closed>'), {
      script: `document.querySelector('x-closed').attachShadow({ mode: 'closed' }).innerHTML = '<div style="position:fixed;inset:0;background:#fff;pointer-events:none"></div>'`,
      elsewhere: { is: 'seen' },
    }),
  ],
}

const bar = (style: string) => under(`<div style="position:absolute;left:0;right:0;top:0;height:24px;${style}"></div>`)
const labels: SightGroup = {
  title: 'The label',
  signal:
    'Whether five points along its words show, by the same signals as for the ad. What is only scrolled away is not hidden.',
  cases: [
    seen('a bar above the slot', `<div style="height:24px;background:#000"></div><div class="slot"></div>`),
    seen('a light bar over the label', bar('background:rgb(0 0 0/.1)')),
    seen(
      'scrolled away with the top of the ad',
      within('height:300px;overflow:auto', '<div class="slot"></div><p style="height:600px"></p>'),
      {
        script: `slot.parentElement.scrollTop = 40`,
      },
    ),
    unseen('a bar over the label', bar('background:#fff')),
    unseen('a bar over it that lets clicks through', bar('background:#fff;pointer-events:none')),
    unseen(
      'a ::before over it',
      '<style>.card{position:relative;width:300px}.card::after{content:"";position:absolute;left:0;top:0;width:300px;height:24px;background:#fff}</style><div class="card"><div class="slot"></div></div>',
    ),
    unseen(
      'the shadow of a spotlight on the ad alone',
      under(
        '<div style="position:absolute;left:0;top:24px;width:300px;height:250px;box-shadow:0 0 0 9999px #111"></div>',
      ),
    ),
    unseen('a clip path that cuts it off', within('clip-path:inset(24px 0 0 0);width:300px')),
    unseen(
      'cut off by an edge that does not scroll',
      within('margin-top:60px;overflow:hidden;width:300px', within('margin-top:-24px')),
    ),
    unseen('above the page, where nobody can scroll', within('margin-top:-40px')),
  ],
}

const screens: SightGroup = {
  title: 'The screen',
  signal: 'What `setViewport` says, else the screen and `visualViewport`.',
  cases: [
    seen('the host shows all of it', '<div class="slot"></div>', {
      viewport: { top: 0, left: 0, width: 900, height: 700 },
    }),
    unseen('the host shows another part of the page', '<div class="slot"></div>', {
      viewport: { top: 600, left: 0, width: 900, height: 700 },
    }),
    unseen('the host shows a quarter of it', '<div class="slot"></div>', {
      viewport: { top: 0, left: 0, width: 900, height: 90 },
    }),
    unseen('the keyboard of a phone is over it', within('position:fixed;bottom:10px'), {
      script: `Object.defineProperty(visualViewport, 'height', { configurable: true, get: () => 300 })`,
    }),
    unseen('a pinch zoom shows another part', '<div class="slot"></div>', {
      script: `for (const [name, value] of [['offsetTop', 400], ['height', 233], ['width', 300], ['scale', 3]]) Object.defineProperty(visualViewport, name, { configurable: true, get: () => value })`,
    }),
    unknown('a viewport larger than the screen', '<div class="slot"></div>', {
      script: `Object.defineProperty(screen, 'height', { configurable: true, get: () => 300 })`,
    }),
    seen('the same, and the host says what it shows', '<div class="slot"></div>', {
      script: `Object.defineProperty(screen, 'height', { configurable: true, get: () => 300 })`,
      viewport: { top: 0, left: 0, width: 900, height: 300 },
    }),
  ],
}

export const sights: readonly SightGroup[] = [transforms, effects, covers, labels, screens]
