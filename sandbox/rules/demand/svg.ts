/**
 * The guard of SVG pictures: what could run, load or expand is refused where it stands. A browser runs nothing in an SVG that
 * an `img` shows, and the file is served with a policy that forbids it too; a program that opens it elsewhere has no such policy.
 */
import sax, { type QualifiedAttribute } from 'sax'
import { FileProblem } from './own-file.ts'

/** Elements of pictures. Others have behaviour (script, animation of links, HTML), or show other documents. */
const elements = new Set(
  `svg g defs title desc metadata path rect circle ellipse line polyline polygon text tspan textPath image use symbol
  lineargradient radialgradient stop pattern clippath mask marker filter style switch view
  feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix fediffuselighting fedisplacementmap
  fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur femerge femergenode femorphology
  feoffset fepointlight fespecularlighting fespotlight fetile feturbulence`
    .toLowerCase()
    .split(/\s+/),
)
const links = new Set(['href', 'src'])
const svgNamespace = 'http://www.w3.org/2000/svg'
const maxNodes = 20_000
const maxLevels = 200
const plain = 'Export it as a plain SVG: shapes, text and embedded pictures.'

/** @throws FileProblem with line and column */
export function checkSvg(name: string, text: string): { width: number; height: number } {
  const parser = sax.parser(true, { position: true, xmlns: true })
  const refuse = (what: string, hint = plain): never => {
    throw new FileProblem(`${what}.`, hint, { line: parser.line + 1, column: Math.max(1, parser.column) })
  }
  let nodes = 0
  let depth = 0
  let size: { width: number; height: number } | null = null
  parser.ondoctype = () => refuse('A document type can define entities that expand without end', 'Remove <!DOCTYPE>.')
  parser.onprocessinginstruction = ({ name: target }) => {
    if (target !== 'xml') refuse(`The instruction <?${target}?> can load a style sheet`)
  }
  parser.onerror = (error) => refuse(`${name} is no XML: ${error.message.split('\n')[0]}`)
  parser.onopentag = (tag) => {
    const { name: element, local, uri, attributes } = tag as sax.QualifiedTag
    if (++nodes > maxNodes) refuse(`It has more than ${maxNodes} elements`)
    if (++depth > maxLevels) refuse(`It nests more than ${maxLevels} levels`)
    if (size === null && (local !== 'svg' || uri !== svgNamespace))
      refuse(`Its first element is not <svg xmlns="${svgNamespace}">`)
    // Editors keep notes in namespaces of their own, which nothing shows.
    const isPicture =
      uri === svgNamespace
        ? elements.has(local.toLowerCase())
        : /inkscape|sodipodi|adobe|rdf|purl|creativecommons|figma|sketch/.test(uri)
    if (!isPicture) refuse(`The element <${element}> is not allowed`)
    for (const attribute of Object.values(attributes)) checkAttribute(attribute, refuse)
    size ??= readSize(attributes) ?? refuse('It has neither width and height nor a viewBox')
  }
  parser.onclosetag = () => {
    depth--
  }
  const onStyle = (css: string) => {
    if (loadsByCss(css)) refuse('Its style loads something from elsewhere')
  }
  parser.ontext = onStyle
  parser.oncdata = onStyle
  parser.write(text).close()
  return size ?? refuse('It has no <svg> element')
}

function checkAttribute({ name, local, value }: QualifiedAttribute, refuse: (what: string) => never): void {
  if (/^on/i.test(local)) refuse(`The attribute ${name} is a script`)
  const target = value.replace(/[\s\p{Cc}]/gu, '').toLowerCase()
  if (links.has(local.toLowerCase()) && !target.startsWith('#') && !embedded.test(target))
    refuse(`The attribute ${name} refers to something outside of the file`)
  if (loadsByCss(value)) refuse(`The attribute ${name} loads something from elsewhere`)
}

const embedded = /^data:image\/(png|jpeg|gif|webp)[;,]/

/** Whether a style refers to anything but a part of the file. Escapes could hide it. */
function loadsByCss(css: string): boolean {
  if (/@import|@font-face|expression\s*\(|javascript:|-moz-binding|image-set/i.test(css)) return true
  if (/url\s*\(/i.test(css) && css.includes('\\')) return true
  return [...css.matchAll(/url\s*\(\s*["']?\s*([^"')\s]*)/gi)].some(([, target = '']) => !target.startsWith('#'))
}

function readSize(attributes: Record<string, QualifiedAttribute>): { width: number; height: number } | null {
  const read = (name: string) => attributes[name]?.value.trim() ?? ''
  const [width, height] = ['width', 'height'].map((side) => Number(/^([0-9.]{1,10})(?:px)?$/.exec(read(side))?.[1]))
  if (width! > 0 && height! > 0) return { width: width!, height: height! }
  const [, , boxWidth, boxHeight] = read('viewBox')
    .split(/[\s,]+/)
    .map(Number)
  return boxWidth! > 0 && boxHeight! > 0 ? { width: boxWidth!, height: boxHeight! } : null
}
