import { findEntry } from '#foundation/table-entry.ts'

/** USD per unit of a currency: fixed, so a decision does not depend on the day. */
const usdRates: Readonly<Record<string, number>> = {
  USD: 1,
  AUD: 0.66,
  BRL: 0.18,
  CAD: 0.73,
  CHF: 1.12,
  CNY: 0.14,
  DKK: 0.145,
  EUR: 1.08,
  GBP: 1.27,
  INR: 0.012,
  JPY: 0.0067,
  KRW: 0.00073,
  MXN: 0.055,
  NOK: 0.094,
  NZD: 0.6,
  PLN: 0.25,
  SEK: 0.095,
  SGD: 0.74,
  ZAR: 0.054,
}

/** Whether a price in this currency can be compared; ISO 4217 has more currencies than the table has rates. */
export function hasUsdRate(currency: string): boolean {
  return Object.hasOwn(usdRates, currency)
}

/** Returns the USD per unit of a currency. A currency without a rate counts as USD. */
export function usdRate(currency: string): number {
  return findEntry(usdRates, currency) ?? 1
}
