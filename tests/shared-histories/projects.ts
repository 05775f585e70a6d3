/** The projects of a history, and their keys. */
export const projects = ['proj_demo', 'proj_other'] as const
export type Project = (typeof projects)[number]

export const secretKey = (project: Project) => `sk_test_sandbox_${project.slice('proj_'.length)}`
