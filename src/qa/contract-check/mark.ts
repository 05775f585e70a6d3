/** What marks the traffic of `svc contract check`, so that nobody takes it for that of an integration. */

/** The User-Agent of its requests. */
export const checkAgent = 'svc-contract-check'
/** How its sessions and beacons are called. */
export const checkPrefix = 'svc_contract_check_'
