/** Runs one scripted integration: `node run.ts clean`, or the name of a sin. */
import { clean } from './clean.ts'
import { sins } from './violations.ts'

const name = process.argv[2] ?? ''
if (name === 'clean') await clean()
else await sins[name as keyof typeof sins].commit()
