/** Members of a fault rule in a suite: those of the contract, each of which a variable may fill. */
import { z } from 'zod'
import { FaultDraft } from '../../contract/control/faults.ts'
import { orVariable } from '../suite/fields.ts'

type Shape = typeof FaultDraft.shape

export const faultMembers = z.strictObject(
  Object.fromEntries(
    Object.entries(FaultDraft.shape).map(([name, member]) => [
      name,
      orVariable(member.unwrap() as z.ZodType, `what a fault rule takes as ${name}`).optional(),
    ]),
  ) as unknown as Shape,
)
