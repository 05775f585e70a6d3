/** The states of every earlier schema. `npm test` has that of the first, which goes through every migration. */
import { describeStates, earlier } from '#tests/reliability/schema-states.ts'

describeStates(earlier)
