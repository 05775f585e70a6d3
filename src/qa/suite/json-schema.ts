/** The JSON schema of suite files, for editors: `fixtures/svc.qa.schema.json`. */
import { z } from 'zod'
import { Case, Step, Suite } from './schema.ts'

const steps = z.array(Step)

export const qaSuiteSchema = z.toJSONSchema(
  Suite.extend({
    setup: steps.optional(),
    teardown: steps.optional(),
    cases: z
      .array(Case.extend({ setup: steps.optional(), steps: steps.min(1), teardown: steps.optional() }))
      .min(1)
      .describe('What the suite shows, each by itself.'),
  }),
  { io: 'input', reused: 'ref', unrepresentable: 'any' },
)
