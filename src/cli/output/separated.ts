/** Values as csv and tsv: `-o csv`, `-o tsv`. */

import {
  flattenRows,
  nameWithoutUnit,
  type SeparatedForm,
  type SeparatedFormat,
  separatedText,
} from '#contract/separated.ts'
import { CliError } from '#text/cli-error.ts'
import { oneLine } from '#text/terminal.ts'

/** The name of a column of a table, and its field; default: the name. */
export interface NamedField {
  name: string
  field?: string
}

/**
 * Returns a header and a line for each row, safe on a terminal; empty without rows.
 * @param fields those of `--columns`; null for all
 * @throws CliError when `--columns` names a field that no row has
 */
export function printedRows(
  rows: readonly unknown[],
  format: SeparatedFormat,
  { fields, isIso, form }: { fields: readonly string[] | null; isIso: boolean; form?: SeparatedForm | undefined },
): string {
  const table = flattenRows(rows, isIso)
  const names = rows.length === 0 ? [] : (fields?.map((field) => findName(field, table.names)) ?? table.names)
  return separatedText({ ...table, names }, format, oneLine, form)
}

function findName(field: string, names: readonly string[]): string {
  const found = names.find((name) => name === field || name === nameWithoutUnit(field))
  if (found !== undefined) return found
  throw new CliError('usage', 'column_unknown', `There is no field ${field}.`, `The fields are: ${names.join(', ')}`)
}
