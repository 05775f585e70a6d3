/** A stand-in for a model: streams canned answers word by word. Put your model here. */

const prepared = {
  'How do I make better espresso at home?':
    'Weigh it. 18 g in, 36 g out, in 25 to 30 seconds.\n\nToo fast and sour? Grind finer. Slow and bitter? Grind coarser. Change one thing at a time, and buy coffee beans that were roasted in the last three weeks.',
  'Plan my first 10 km run':
    'Eight weeks are enough. Run three times a week: two easy runs at a pace at which you can talk, and one that grows by half a kilometre each week.\n\nRest before you feel that you must, and never try new running shoes on the day itself.',
  'How do I speed up a slow database query?':
    'Look before you change anything: let the database explain its plan and find the step that reads most rows.\n\nAn index on the columns you filter and sort by mends most of it. After that, ask for fewer columns, and for one page instead of all.',
}
const otherwise =
  'This answer is prepared, whatever you ask: the template comes without a model.\n\nReplace answer() in model.js with yours, and let it yield text as it arrives. Sponsored suggestions go on working as they do now.'

/** Example questions. */
export const ideas = Object.keys(prepared)

/** Yields the answer piece by piece; ends early when the signal is aborted. */
export async function* answer(question, signal) {
  for (const word of (prepared[question] ?? otherwise).match(/\S+\s*/g)) {
    await new Promise((resolve) => setTimeout(resolve, 35))
    if (signal.aborted) return
    yield word
  }
}
