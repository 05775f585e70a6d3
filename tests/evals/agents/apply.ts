/** A scripted agent, to test the harness: finds its task by the prompt, and applies a solution. `node apply.ts SOLUTION PROMPT DIR` */
import { applyPatches, listPatches } from '../project.ts'
import { tasks } from '../tasks.ts'

const [solution = '', prompt, directory = ''] = process.argv.slice(2)
const task = tasks.find((each) => each.prompt === prompt)
if (task === undefined) throw new Error('No task has this prompt.')
applyPatches(directory, listPatches(task, solution))
console.log(`applied ${solution} to ${directory}`)
