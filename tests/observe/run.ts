/** Runs one scripted integration: `node run.ts clean`, or the id of the rule that it violates. */
import { clean } from './clean.ts'
import { violations } from './violations.ts'

const name = process.argv[2] ?? ''
if (name === 'clean') await clean()
else await violations[name as keyof typeof violations].commit()
