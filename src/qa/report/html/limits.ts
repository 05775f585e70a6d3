/** What keeps a report of a thousand cases a page that opens at once. */

/** Characters of a body or a value that a case which passed keeps; one that failed keeps all it has. */
export const passed_body_length = 4_000

/** Bytes of screenshots of cases that passed, over the whole page; those of failed cases are always there. */
export const passed_screenshot_bytes = 12_000_000

/** Failed cases that are unfolded when the page opens. */
export const open_failures = 10

/** Cases above which suites are folded when the page opens. */
export const open_cases = 150

/** Which screenshots of passed cases there is still room for. Asked once for each, in the order of the page. */
export function createScreenshotBudget(): (bytes: number) => boolean {
  let left = passed_screenshot_bytes
  return (bytes) => {
    if (bytes > left) return false
    left -= bytes
    return true
  }
}
