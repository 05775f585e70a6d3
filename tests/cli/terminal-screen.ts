/**
 * The screen of a terminal, computed from its output: the few control sequences that a full-screen program uses. It keeps
 * the primary and the alternate screen, so that a test can check that the primary one is restored.
 */
export interface TerminalScreen {
  write(text: string): void
  resize(columns: number, rows: number): void
  /** The lines of the screen that is shown, without trailing blanks. */
  lines(): string[]
  readonly is_alternate: boolean
  readonly is_cursor_shown: boolean
  /** Number of times that the whole screen was erased. */
  readonly clears: number
  /** Number of synchronized updates. */
  readonly frames: number
  /** The text of the last OSC 52. */
  readonly clipboard: string
}

export function createTerminalScreen(columns: number, rows: number): TerminalScreen {
  let size = { columns, rows }
  let cells = blank()
  let primary = cells
  let saved = { row: 0, column: 0 }
  let row = 0
  let column = 0
  let rest = ''
  let is_alternate = false
  let is_cursor_shown = true
  let clears = 0
  let frames = 0
  let clipboard = ''

  function blank(): string[][] {
    return Array.from({ length: size.rows }, () => Array.from({ length: size.columns }, () => ' '))
  }

  function put(character: string): void {
    if (character === '\r') column = 0
    else if (character === '\n') {
      if (row < size.rows - 1) row++
      else cells.push(...cells.splice(0, 1).map(() => Array.from({ length: size.columns }, () => ' ')))
    } else if (character === '\b') column = Math.max(0, column - 1)
    else if (character >= ' ') {
      if (column < size.columns) cells[row]![column] = character
      column++
    }
  }

  function erase(fromRow: number, fromColumn: number, toRow: number, toColumn: number): void {
    for (let r = fromRow; r <= toRow; r++) {
      const first = r === fromRow ? fromColumn : 0
      const last = r === toRow ? toColumn : size.columns - 1
      for (let c = first; c <= last; c++) cells[r]![c] = ' '
    }
  }

  function mode(name: string, isOn: boolean): void {
    if (name === '?25') is_cursor_shown = isOn
    if (name === '?2026' && isOn) frames++
    if (name !== '?1049' || isOn === is_alternate) return
    is_alternate = isOn
    if (isOn) {
      primary = cells
      saved = { row, column }
      cells = blank()
    } else cells = primary
    ;({ row, column } = isOn ? { row: 0, column: 0 } : saved)
  }

  function control(parameters: string, command: string): void {
    const [first = 0, second = 0] = parameters.split(';').map((part) => Number(part.replace(/\D/g, '')))
    const amount = Math.max(1, first)
    if (command === 'A') row = Math.max(0, row - amount)
    else if (command === 'B') row = Math.min(size.rows - 1, row + amount)
    else if (command === 'C') column = Math.min(size.columns - 1, column + amount)
    else if (command === 'D') column = Math.max(0, column - amount)
    else if (command === 'E') {
      row = Math.min(size.rows - 1, row + amount)
      column = 0
    } else if (command === 'F') {
      row = Math.max(0, row - amount)
      column = 0
    } else if (command === 'G') column = amount - 1
    else if (command === 'H') {
      row = Math.min(size.rows, amount) - 1
      column = Math.max(1, second) - 1
    } else if (command === 'J') {
      if (first === 2) {
        clears++
        erase(0, 0, size.rows - 1, size.columns - 1)
      } else if (first === 0) erase(row, column, size.rows - 1, size.columns - 1)
    } else if (command === 'K') erase(row, first === 0 ? column : 0, row, first === 1 ? column : size.columns - 1)
    else if (command === 'h' || command === 'l') mode(parameters, command === 'h')
  }

  return {
    write(text) {
      rest += text
      const token =
        /\u001b\[([0-9;?<>=]*)([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[()][A-Z0-9]|\u001b[78=>cM]|[^\u001b]/uy
      let end = 0
      for (let match = token.exec(rest); match !== null; match = token.exec(rest)) {
        end = token.lastIndex
        if (match[2] !== undefined) control(match[1] ?? '', match[2])
        else if (match[0].startsWith('\u001b]52;c;')) clipboard = Buffer.from(match[0].slice(7), 'base64').toString()
        else if (!match[0].startsWith('\u001b')) put(match[0])
      }
      rest = rest.slice(end)
    },
    resize(columns, rows) {
      size = { columns, rows }
      const reshaped = (before: string[][]) => blank().map((line, r) => line.map((cell, c) => before[r]?.[c] ?? cell))
      const isShared = cells === primary
      cells = reshaped(cells)
      primary = isShared ? cells : reshaped(primary)
      row = Math.min(row, rows - 1)
    },
    lines: () => cells.map((line) => line.join('').trimEnd()),
    get is_alternate() {
      return is_alternate
    },
    get is_cursor_shown() {
      return is_cursor_shown
    },
    get clears() {
      return clears
    },
    get clipboard() {
      return clipboard
    },
    get frames() {
      return frames
    },
  }
}
