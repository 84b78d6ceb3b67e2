// Shapes that only the F# compiler makes: tail calls, curried functions, discriminated unions.
module ShapesFs.Program

open System

type Shape =
    | Circle of float
    | Square of float

[<AbstractClass; Sealed>]
type Tails =
    static member Next(f: Func<int, int>, x: int) : int = f.Invoke(x)
    static member Chain(f: Func<int, int>, x: int) : int = if x > 3 then Tails.Next(f, x) else Tails.Chain(f, x + 1)
    static member Text(x: int, k: string -> string) : string = k (string x)

type Areas() =
    member _.Area(shape: Shape) =
        match shape with
        | Circle r -> 3.0 * r * r
        | Square a -> a * a
    member _.Fail(message: string) : int = failwith message

let rec even n = if n = 0 then true else odd (n - 1)
and odd n = if n = 0 then false else even (n - 1)

[<Struct>]
type Size =
    | Small of s: int
    | Large of l: int64

let (|Even|Odd|) n = if n % 2 = 0 then Even else Odd

let sizes = [ Small 1; Large 2L; Small 3 ]

let total sizes =
    sizes |> List.sumBy (fun size -> match size with Small n -> int64 n | Large n -> n)

let steps n =
    seq {
        for i in 1 .. n do
            match i with
            | Even -> yield i * 10
            | Odd -> yield i
    }

let guarded f =
    try
        try
            Some(f ())
        finally
            printfn "finally"
    with
    | :? DivideByZeroException -> None
    | Failure text when text.Length > 3 -> Some text.Length

let later n =
    async {
        let! x = async { return n + 1 }
        if x > 5 then failwith "too late"
        return x * 2
    }

let frames (e: exn) =
    for line in e.StackTrace.Split('\n') do
        if line.Contains "ShapesFs" then
            let number = line.LastIndexOf ":line "
            let place = line.IndexOf " in "
            printfn "  %s%s" ((if place < 0 then line else line.Substring(0, place)).Trim())
                (if number < 0 then "" else line.Substring(number).TrimEnd())

[<EntryPoint>]
let main _ =
    printfn "chain %d" (Tails.Chain(Func<int, int>(fun x -> x * 10), 0))
    printfn "text %s" (Tails.Text(5, (fun s -> s + "!")))
    printfn "even %b" (even 1000000)
    let areas = Areas()
    printfn "circle %g" (areas.Area(Circle 2.0))
    printfn "square %g" (areas.Area(Square 3.0))
    try
        areas.Fail "no area" |> ignore
    with e ->
        printfn "caught %s" e.Message
        frames e
    printfn "total %d" (total sizes)
    printfn "steps %A" (List.ofSeq (steps 5))
    printfn "guarded %A %A %A" (guarded (fun () -> 1)) (guarded (fun () -> 1 / List.length [])) (guarded (fun () -> failwith "text"))
    try
        guarded (fun () -> failwith "no") |> ignore
    with e -> frames e
    printfn "later %d" (Async.RunSynchronously(later 1))
    try
        Async.RunSynchronously(later 7) |> ignore
    with e -> printfn "late %s" e.Message
    9
