/** Example questions. */
export const ideas = [
  'How do I make better espresso at home?',
  'Plan my first 10 km run',
  'How do I speed up a slow database query?',
] as const
