/** A voice companion: a wave that listens and speaks, a live transcript, and a companion card as its slot. */
import { el, unseen } from '../elements.ts'
import { icon } from '../icons.ts'
import { isCalm, pause, seeded, write } from '../pace.ts'
import { createSlot } from '../slot.ts'
import type { Prompt, Surface, SurfaceKind } from './surface.ts'

const prompts: readonly (Prompt & { answer: string })[] = [
  {
    label: 'How do I order in Lisbon?',
    text: 'How do I order a coffee in Lisbon without pointing at it?',
    topic: 'languages',
    answer:
      'Say “uma bica, por favor” for a small, strong one, or “um galão” if you want it long and milky. You will hear “mais alguma coisa?” — that means anything else. Answer “é tudo, obrigado” if you are a man, “obrigada” if you are a woman. Shall we practise it once?',
  },
  {
    label: 'Something to listen to',
    text: 'I have forty minutes on the train. Find me something to listen to.',
    topic: 'podcasts',
    answer:
      'Forty minutes fits one long story. I would take the lighthouse one: a ledger, a missing winter, told in a single walk along the coast. It is thirty-eight minutes, so you will hear the end before your stop. I can start it as soon as you put your headphones on.',
  },
  {
    label: 'Help me fall asleep',
    text: 'Help me fall asleep. No music.',
    topic: 'sleep',
    answer:
      'All right. Put the phone face down. Breathe in while I count to four. Hold it for two. And out, slowly, for six. We will do that eight times, and I will get quieter each time. If you are still awake after that, I will tell you about a town where nothing ever happens.',
  },
]

const fallback =
  'I am a demo, so I can only pretend to listen: nothing is recorded, and nothing leaves this machine. The card beside me is real, though. Your question was a turn, it asked for a placement, and the timeline shows what became of it.'

export const voice: SurfaceKind = {
  job_type: 'voice',
  icon: 'voice',
  name: 'Voice',
  product: 'Vesperine',
  tagline: 'Talk it over',
  placeholder: 'Say it in writing',
  ask: 'Say it',
  prompts,
  slot: { position: 'sidebar', timing: 'during', max_height: 460, share: 0.45 },
  template: { narrow: 'list_item', wide: 'card' },
  open,
}

const bars = 56

function open(window: HTMLElement): Surface {
  const slot = createSlot('voice')
  const wave = el('canvas', { class: 'wave', role: 'img', 'aria-label': 'Voice' })
  const state = el('p', { class: 'state' })
  const transcript = el('div', {
    class: 'transcript scroller',
    tabindex: 0,
    role: 'region',
    'aria-label': 'Transcript',
  })
  window.append(
    el(
      'div',
      { class: 'voice' },
      el('div', { class: 'call' }, el('div', { class: 'wave-box' }, wave, state), transcript),
      slot.element,
    ),
  )
  const voiceWave = drawWave(wave)
  const tell = (name: 'idle' | 'listening' | 'thinking' | 'speaking', text: string) => {
    state.replaceChildren(icon(name === 'listening' ? 'mic' : 'voice'), text)
    window.dataset.voice = name
    voiceWave.become(name)
  }
  tell('idle', 'Ready')
  let last: HTMLElement[] = []

  return {
    begin(prompt, isAgain) {
      if (isAgain) for (const line of last) line.remove()
      const said = el('p', { class: 'said', dir: 'auto' }, unseen('You: '))
      const reply = el('p', { class: 'spoken', dir: 'auto', 'aria-busy': 'true' }, unseen('Vesperine: '))
      last = [said, reply]
      transcript.append(said, reply)
      const follow = () => {
        transcript.scrollTop = transcript.scrollHeight
      }
      const sizes = new ResizeObserver(follow)
      for (const line of last) sizes.observe(line)
      return {
        slot,
        async answer(signal) {
          try {
            tell('listening', 'Listening')
            await write(said, prompt.text, signal, 110)
            tell('thinking', 'Thinking')
            await pause(700, signal)
            tell('speaking', 'Speaking')
            const answer = prompts.find(({ text }) => text === prompt.text)?.answer ?? fallback
            await write(reply, answer, signal, 120)
            return answer
          } finally {
            sizes.disconnect()
            reply.removeAttribute('aria-busy')
            tell('idle', 'Ready')
          }
        },
      }
    },
  }
}

/** Bars that move as a voice would: calm when idle, low while it listens, full while it speaks. */
function drawWave(canvas: HTMLCanvasElement): { become(state: string): void } {
  const random = seeded('vesperine')
  const heights = Array.from({ length: bars }, () => 0)
  const phases = Array.from({ length: bars }, () => random() * Math.PI * 2)
  const loudness: Record<string, number> = { idle: 0.06, listening: 0.55, thinking: 0.16, speaking: 1 }
  let level = 0.06
  let wanted = 0.06
  let running = false

  const frame = (now: number) => {
    if (!canvas.isConnected || canvas.offsetParent === null) {
      running = false
      return
    }
    level += (wanted - level) * 0.07
    const { clientWidth: width, clientHeight: height } = canvas
    const scale = devicePixelRatio
    if (canvas.width !== Math.round(width * scale)) {
      canvas.width = Math.round(width * scale)
      canvas.height = Math.round(height * scale)
    }
    const context = canvas.getContext('2d')
    if (context === null) return
    context.setTransform(scale, 0, 0, scale, 0, 0)
    context.clearRect(0, 0, width, height)
    context.fillStyle = getComputedStyle(canvas).color
    const step = width / bars
    for (let bar = 0; bar < bars; bar++) {
      const middle = 1 - Math.abs(bar / (bars - 1) - 0.5) * 2
      const phase = phases[bar] ?? 0
      const beat = Math.sin(now / 190 + phase) * Math.sin(now / 470 + bar * 0.35) * 0.5 + 0.5
      const target = 0.03 + level * beat * (0.25 + 0.75 * middle)
      const present = heights[bar] ?? 0
      heights[bar] = present + (target - present) * 0.25
      const tall = Math.max(3, (heights[bar] ?? 0) * height)
      context.globalAlpha = 0.35 + 0.65 * middle
      context.beginPath()
      context.roundRect(bar * step + step * 0.22, (height - tall) / 2, step * 0.56, tall, step)
      context.fill()
    }
    const isResting = wanted < 0.1 && level < 0.08
    running = !isCalm.matches && !isResting
    if (running) requestAnimationFrame(frame)
  }
  const wake = () => {
    if (running) return
    running = true
    requestAnimationFrame(frame)
  }
  new ResizeObserver(wake).observe(canvas)
  return {
    become(state) {
      wanted = loudness[state] ?? 0.06
      if (isCalm.matches) level = wanted
      wake()
    },
  }
}
