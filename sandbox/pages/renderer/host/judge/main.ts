/** judge.js: the part of render.js that judges ads and their labels. It loads where the browser itself does not say enough. */
export { judge } from './judge.ts'
export { inspectLabel } from './label.ts'
