/** Your own campaigns, sent to a running sandbox (A107). */
import type { Contract } from '#contract/index.ts'
import type { Operation } from '../context.ts'

export const replaceDemand: Operation<Contract['demand.replace']> = async (services, { now_ms }, { body }) => {
  const files = new Map(body.files.map(({ name, base64 }) => [name, Buffer.from(base64, 'base64')]))
  return services.takeDemand(files, { now_ms, isOnlyChecked: body.dry_run === true })
}
