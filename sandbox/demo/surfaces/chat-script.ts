/** What the chat product answers. A block is a paragraph, a list or a line of code. */
import type { Prompt } from './surface.ts'

export type Block = { p: string } | { list: string[] } | { code: string }

export const chatPrompts: readonly (Prompt & { answer: Block[] })[] = [
  {
    label: 'Better espresso at home',
    text: 'My espresso runs through in fifteen seconds and tastes sour. What should I change first?',
    topic: 'espresso',
    answer: [
      {
        p: 'Fifteen seconds is fast, and sour is what fast tastes like: the water leaves before it has taken the sugars along. **Grind finer first**, and change nothing else.',
      },
      {
        list: [
          '**Dose** 18 g in, and weigh it. A spoon is off by a gram or two.',
          '**Grind** one step finer, until 36 g come out in 25 to 30 seconds.',
          '**Distribute** with a thin needle before you tamp. Clumps make channels.',
          '**Temperature** last: 93 °C for a medium roast, a degree more for a light one.',
        ],
      },
      {
        p: 'If it turns bitter, you went one step too far. Beans matter as much as the grinder: look for a roast date within the last three weeks, not a best-before date.',
      },
    ],
  },
  {
    label: 'First 10 km in eight weeks',
    text: 'I can run three kilometres without stopping. How do I get to ten in eight weeks?',
    topic: 'running',
    answer: [
      {
        p: 'Three runs a week are enough, as long as two of them feel too slow. **Most of the work is easy running**: you should be able to speak in sentences.',
      },
      {
        list: [
          '**Weeks 1 and 2**: 3 km, 3 km and a long run of 4 km.',
          '**Weeks 3 to 5**: add one kilometre to the long run each week.',
          '**Week 6**: half of everything. Rest is when you get fitter.',
          '**Weeks 7 and 8**: 8 km, then 10 km, at the same easy pace.',
        ],
      },
      { p: 'If a knee complains for more than two days, repeat the week. Nothing is lost by that.' },
    ],
  },
  {
    label: 'كتاب مسموع للمساء',
    text: 'أوصني بكتاب مسموع هادئ لأمسيات الشتاء',
    topic: 'books',
    answer: [
      {
        p: 'لأمسيات الشتاء أقترح **حكايات قصيرة** بصوت راوٍ واحد: تنتهي الواحدة منها قبل أن يغلبك النوم، ولا تضطر إلى تذكّر أسماء كثيرة في الليلة التالية.',
      },
      {
        list: [
          '**حكايات شعبية** بالفصحى المبسّطة، نصف ساعة لكل حكاية.',
          '**سيرة رحّالة** قديم: إيقاع بطيء وأماكن بعيدة.',
          '**رواية رسائل**: فصول قصيرة وصوتان متناوبان.',
        ],
      },
      { p: 'اضبط مؤقّت النوم على عشرين دقيقة، وخفّض السرعة قليلًا.' },
    ],
  },
]

export const chatFallback: Block[] = [
  {
    p: 'This is a demo host: **there is no model behind it**, and your words never leave this machine. The turn around this answer is real, though.',
  },
  {
    list: [
      'Your prompt went to this page’s backend, which asked the sandbox for a placement with its secret key.',
      'What you typed takes part in matching only while consent for it is granted.',
      'The timeline shows the request, the decision and every beacon of this turn.',
    ],
  },
]
