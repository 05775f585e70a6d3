/** Words in place of a creative's own: as long as a translation usually is, in a script or with words that break layouts. */
import type { Wording } from '#contract/resources/sandbox/creative-sheet.ts'

interface Sample {
  /** Length of a translation, by that of the original. */
  length: number
  sentence: string
  call: string
  /** Between words; '' in a script without. */
  separator: string
}

const samples: Readonly<Record<Exclude<Wording, 'own'>, Sample>> = {
  long_words: {
    length: 1,
    sentence:
      'Weltraumforschungsinstitute Nahverkehrsgesellschaften Kaffeeröstereiabonnement Wohngebäudeversicherung Geschwindigkeitsmessung Lebensmittelkennzeichnung',
    call: 'Weiterlesen Ausprobieren Kennenlernen',
    separator: ' ',
  },
  german: {
    length: 1.3,
    sentence:
      'Schöne Grüße aus der Übergangszeit: größere Auswahl, kürzere Wege und für jeden Anlass genau das Richtige, jederzeit kündbar und ohne versteckte Gebühren, in über sechzig Städten für Sie da',
    call: 'Jetzt kostenlos entdecken und ausprobieren',
    separator: ' ',
  },
  japanese: {
    length: 0.6,
    sentence:
      '毎朝の一杯を、もっとおいしく。焙煎したての豆を、あなたの淹れ方に合わせてお届けします。はじめての方は送料無料で、いつでも解約できます。',
    call: '詳しく見る',
    separator: '',
  },
  arabic: {
    length: 1,
    sentence:
      'قهوة طازجة تصل إلى بابك كل أسبوع مع خيارات تناسب ذوقك وطريقة تحضيرك والطلب الأول مجاني ويمكنك الإلغاء في أي وقت بلا رسوم',
    call: 'اكتشف المزيد من العروض',
    separator: ' ',
  },
}

/** Returns sample words instead of a text. The first word is always there, however short the text. */
export function sampleWords(text: string, words: Exclude<Wording, 'own'>, part: 'sentence' | 'call'): string {
  const { length, separator, ...sample } = samples[words]
  const most = Math.round([...text].length * length)
  const all = separator === '' ? [...sample[part]] : sample[part].split(separator)
  let taken = all[0]!
  for (let at = 1; ; at++) {
    const next = `${taken}${separator}${all[at % all.length]}`
    if ([...next].length > most) return taken
    taken = next
  }
}
