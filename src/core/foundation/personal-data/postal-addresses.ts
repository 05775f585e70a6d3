/**
 * Postal addresses. A street with a house number alone is often a place or a film ("12 Baker Street movie"), so it takes a
 * second sign: a postal code, a flat, a town after a comma, or words such as "deliver to" or "my address".
 */

/** Types of streets that follow the name: in English after a house number, elsewhere before one. */
const englishTypes =
  'street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|court|ct|place|pl|square|sq|terrace|way|close|crescent|cres|parkway|pkwy|highway|hwy|circle|cir|trail|row|gardens|grove|hill|quay|mews|walk|soi'
const frenchTypes =
  'rue|avenue|av|boulevard|bd|place|allée|allee|chemin|impasse|quai|cours|route|square|passage|jalan|jln|lorong'
const endings =
  'straße|strasse|str|weg|allee|platz|gasse|ring|damm|ufer|chaussee|steig|pfad|markt|gracht|straat|laan|plein|kade|dijk|singel|gatan|gata|vägen|gränd|gade|vej|allé|veien|veg|katu|tie|gate|utca|út|ulica|ulice|třída|náměstí|caddesi|cadde|sokak|sokağı'
const leadingTypes =
  'calle|c/|avenida|av|avda|plaza|paseo|carrera|carrer|via|viale|piazza|corso|largo|vicolo|rua|travessa|praça|alameda|ul|ulica|aleja|al|os|plac|strada|jalan|jl|aleje|ул|улица|проспект|пр'

const name = "[\\p{L}\\p{M}.'’-]{1,40}"
const houseNumber = '\\d{1,5} ?[a-z]?(?:[/-]\\d{1,4}[a-z]?)?(?![\\p{L}\\d])'

/** What a number counts: "5 minute drive" is no street. */
const units = 'minutes?|mins?|hours?|days?|weeks?|miles?|km|metres?|meters?|stars?|bed|lane|way'

const streets = [
  // 14 Elm Road; 123 W. 4th St
  `(?<![\\p{L}\\d.,])\\d{1,5}[a-z]?(?:[/-]\\d{1,5}[a-z]?)?,? (?!(?:${units})(?![\\p{L}]))(?:(?:${name}|\\d{1,3}(?:st|nd|rd|th)) ){1,4}?(?:${englishTypes})(?![\\p{L}])`,
  // 12 bis rue de la Paix
  `(?<![\\p{L}\\d.,])\\d{1,4} ?(?:bis|ter|quater)?,? ?(?:${frenchTypes})\\.? ${name}`,
  // Hauptstr. 27a; Schönbrunner Straße 45/12
  `(?<![\\p{L}])(?:${name} )?[\\p{L}\\p{M}.-]{0,40}(?:${endings})\\.? (?:no[.:]{0,2} ?)?${houseNumber}`,
  // Calle Mayor 5; Rua das Flores, 250; ul. Marszałkowska 10/12
  `(?<![\\p{L}])(?:${leadingTypes})\\.? ?(?:${name} ){0,4}?${name},? (?:(?:n[ºo°.]{0,2}|д|дом)\\.? ?)?${houseNumber}`,
  // House 12, Road 5; Blk 123 Ang Mo Kio
  '(?<![\\p{L}])(?:(?:house|plot|villa|building|door)(?: no)?\\.? ?#?\\d{1,5}[a-z]?,|blk\\.? ?\\d{1,5}[a-z]?|\\d{1,3}(?:st|nd|rd|th) floor,) (?=\\p{L})',
  'p\\.? ?o\\.? ?box \\d{1,6}|postfach \\d{1,6}|apartado \\d{1,6}|casella postale \\d{1,6}',
].map((form) => new RegExp(form, 'giu'))

/** A word of a street somewhere: one expression in front of the others, which are slower. */
const anyType = new RegExp(
  `(?:${endings})(?![\\p{L}])|(?<![\\p{L}])(?:${englishTypes}|${frenchTypes}|${leadingTypes})(?![\\p{L}])|house|plot|villa|building|door|blk|floor|box|postfach|apartado|casella`,
  'iu',
)

const town = '\\p{Lu}[\\p{L}\\p{M}]{2,}'

/** What follows a street in an address, within a few words. */
const codesAfter = new RegExp(
  [
    // Britain, Canada, Ireland
    '(?<![\\p{L}\\d])(?:[A-Za-z]{1,2}\\d[A-Za-z\\d]? ?\\d[A-Za-z]{2}|[A-Za-z]\\d[A-Za-z] ?\\d[A-Za-z]\\d|[A-Z]\\d[\\dW] ?[A-Z]\\w{3})(?![\\p{L}\\d])',
    // A state or a town, and a code: IL 62704, Bengaluru 560001, NSW 2150
    '(?:(?<![\\p{L}])[A-Z]{2,3}|[\\p{L}\\p{M}]{3,}),? (?:\\d{5}(?:-\\d{4})?|\\d{6})(?!\\d)',
    '(?<![\\p{L}])(?:NSW|VIC|QLD|SA|WA|TAS|NT|ACT) \\d{4}(?!\\d)',
    // A code and a town: 50667 Köln, 1015 CJ Amsterdam, 111 51 Stockholm, 00-590 Warszawa, 01310-200 São Paulo
    `(?<![\\p{L}\\d])(?:[A-Z]{1,2}-)?(?:\\d{4,5}|\\d{4} ?[A-Z]{2}|\\d{3} \\d{2}|\\d{2}-\\d{3}|\\d{5}-\\d{3}|\\d{4}-\\d{3}) ${town}`,
    '(?<![\\p{L}\\d])\\d{5} [\\p{Ll}]{3,}',
  ].join('|'),
  'u',
)
const flat =
  /(?<!\p{L})(?:road|street|lane|sector)(?: no\.?)? \d|(?<!\p{L})(?:apt|apartment|flat|unit|suite|ste|apto|appt|app|wohnung|lgh|кв|m)\.? ?#?\d|\dº|#\d/iu
const townAfter = new RegExp(`^(?:,[^,]{1,16})?, ${town}`, 'u')
const cue = new RegExp(
  `(?<![\\p{L}])(?:${[
    '(?:my|our|home|billing|shipping|delivery) (?:home )?address|i live (?:at|on|in)|we live (?:at|on|in)|living at|deliver(?:ed|y)? .{0,20}to|ship .{0,20}to|send .{0,20}to|pick ?up (?:at|from)|(?:my|our)(?: new| old)? (?:house|home|flat|place|apartment|office) (?:at|is|on)',
    'meine adresse|anschrift|lieferadresse|ich wohne|wohnhaft|liefern|lieferung|umzug (?:von|nach)',
    "mon adresse|j['’]habite|livrer|livraison",
    'mi dirección|vivo en|envío a|enviar a|entrega en|meu endereço|moro na|moro em',
    'il mio indirizzo|abito in|consegna|mijn adres|ik woon|bezorgen|mój adres|mieszkam|paczka na|min adress|jag bor',
  ].join('|')})(?![\\p{L}])`,
  'iu',
)

/** Chinese, Japanese and Korean addresses have no spaces, and a number with its kind. */
const eastAsian =
  /〒 ?\d{3}-?\d{4}|[都道府県市区町村]\p{Script=Han}{0,12}\d{1,3}(?:丁目|-\d{1,3})|\p{Script=Han}{2,12}[路街道巷弄]\d{1,5}[号號]|\p{Script=Hangul}{1,8}[시구군] ?\p{Script=Hangul}{1,12}[로길] ?\d{1,4}/u

/** Forms that say themselves that they are addresses. */
const complete = [
  // Calle 72 # 10-34 in Colombia
  /(?<!\p{L})(?:calle|carrera|cra|cll?|kr|diagonal|transversal|avenida)\.? \d{1,3} ?[a-z]? ?(?:#|n[oº°]\.?) ?\d{1,3} ?[a-z]? ?- ?\d{1,3}(?!\d)/iu,
  // 1-2-3 Jingumae, Shibuya-ku, Tokyo 150-0001
  /(?<!\d)\d{1,2}-\d{1,2}(?:-\d{1,2})?,? \p{L}[^\d]{2,60}\d{3}-\d{4}(?!\d)/u,
  // 15 Rose Cottage, Church Lane, Bury CO7 6TG
  /(?<![\d.,])\d{1,4}[a-z]? \p{L}[^\d,]{2,40},[^\d]{1,60} [A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}(?![\p{L}\d])/iu,
  // Gran Vía 28, 28013 Madrid; An der Alster 12 in 20099 Hamburg
  /(?<!\p{L})\p{Lu}[\p{L}\p{M}'’-]{2,40} \d{1,4} ?[a-z]?(?:,| in) (?:\d{5}|\d{3} \d{2}|\d{2}-\d{3}) (?!Euro|Dollar|Meter|Watt|Teile)\p{Lu}[\p{L}\p{M}]{2,}/u,
  // İstiklal Caddesi No:45
  /\p{L} (?:caddesi|cadde|cad|sokak|sokağı|sok|bulvarı|mahallesi)\.? no ?[:.] ?\d/iu,
]

/** A postal code or a town comes within this many characters of the house number. */
const reach = 48

export function hasPostalAddress(text: string): boolean {
  if (eastAsian.test(text)) return true
  if (!text.includes(' ')) return false
  if (complete.some((form) => form.test(text))) return true
  if (!anyType.test(text)) return false
  return streets.some((street) => [...text.matchAll(street)].some((found) => isAddress(text, found)))
}

function isAddress(text: string, { 0: street, index }: RegExpMatchArray & { index: number }): boolean {
  const end = index + street.length
  const after = text.slice(end, end + reach)
  const before = text.slice(Math.max(0, index - reach), index)
  return codesAfter.test(after) || townAfter.test(after) || flat.test(after) || flat.test(before) || cue.test(text)
}
