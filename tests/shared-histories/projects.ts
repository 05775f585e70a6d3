/** The projects of a history, and their keys. */
export const projects = ['proj_demo', 'proj_other'] as const

export const secretKey = (project: string) => `sk_test_sandbox_${project.slice('proj_'.length)}`
