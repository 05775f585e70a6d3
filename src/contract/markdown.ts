/** A table; `<` and `|` in its cells are escaped. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |`
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

/** The fragment by which a heading is linked. */
export function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9_ -]/g, '')
    .replaceAll(' ', '-')
}

/** 65536 as `65 536`. */
export function number(value: number): string {
  return `${value}`.replace(/\B(?<!\.\d*)(?=(\d{3})+$)/g, ' ')
}
