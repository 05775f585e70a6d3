/** The contract as a listing and as an OpenAPI document. */
import type { Contract } from '#contract/index.ts'
import { contractListing } from '#contract/listing.ts'
import { openapiDocument } from '#contract/openapi/document.ts'
import type { Operation } from '../context.ts'

export const getContract: Operation<Contract['contract.show']> = async () => {
  const { endpoints, reason_codes, no_fill_reasons } = contractListing()
  return JSON.parse(JSON.stringify({ endpoints, reason_codes, no_fill_reasons }))
}

export const getOpenapi: Operation<Contract['contract.openapi']> = async (services) =>
  openapiDocument({ server_url: services.base_url }) as Record<string, never>
